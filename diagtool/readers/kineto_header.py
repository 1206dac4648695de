"""Facts that a Kineto trace states about itself around its events: rank, devices, versions."""

from collections.abc import Iterable
from typing import Any

from diagtool.diagnosis import Device
from diagtool.readers.kineto_args import integer

UNKNOWN_RANK = -1


def devices(header: dict[str, Any], rank: int, used: Iterable[int]) -> tuple[Device, ...]:
    """The devices with these indices, as far as the header describes them."""
    stated = header.get("deviceProperties")
    properties = {
        integer(item.get("id"), index): item
        for index, item in enumerate(stated if isinstance(stated, list) else [])
        if isinstance(item, dict)
    }
    return tuple(_device(rank, index, properties.get(index, {})) for index in used)


def _device(rank: int, index: int, item: dict[str, Any]) -> Device:
    major, minor = (integer(item.get(key), -1) for key in ("computeMajor", "computeMinor"))
    return Device(
        rank=rank,
        index=index,
        name=item["name"] if isinstance(item.get("name"), str) else "",
        sms=max(integer(item.get("numSms"), 0), 0) or None,
        memory_bytes=max(integer(item.get("totalGlobalMem"), 0), 0) or None,
        compute_capability=f"{major}.{minor}" if major >= 0 and minor >= 0 else None,
    )


def rank(header: dict[str, Any]) -> int:
    """The rank stated, or UNKNOWN_RANK."""
    info = header.get("distributedInfo")
    rank = info.get("rank") if isinstance(info, dict) else None
    return rank if type(rank) is int and 0 <= rank < 1 << 31 else UNKNOWN_RANK


def runtime(header: dict[str, Any]) -> dict[str, Any]:
    """Versions of the CUDA or HIP runtime and driver, and whether stacks were recorded."""
    keys = (
        "cuda_runtime_version",
        "cuda_driver_version",
        "hip_runtime_version",
        "hip_driver_version",
        "with_stack",
    )
    return {key: int(header[key]) for key in keys if isinstance(header.get(key), int)}


def version(header: dict[str, Any]) -> str:
    """The version of the trace's own format."""
    version = header.get("schemaVersion")
    return f"schema {version}" if type(version) is int else ""
