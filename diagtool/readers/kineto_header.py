"""Facts that a Kineto trace states about itself around its events: rank, devices, versions."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diagtool.diagnosis import Device
from diagtool.hardware.occupancy import compute_capability_of
from diagtool.readers.kineto_args import integer

UNKNOWN_RANK = -1

_AGREEING = 0.95
# More multiprocessors than any device has.
_MOST_SMS = 4096


def devices(
    header: dict[str, Any], rank: int, used: Iterable[int], multiprocessors: Mapping[int, int]
) -> tuple[Device, ...]:
    """The devices with these indices, as far as the header describes them.

    ``multiprocessors`` says how many SMs each has where the header does not, and that may tell its generation.
    """
    stated = header.get("deviceProperties")
    properties = {
        integer(item.get("id"), index): item
        for index, item in enumerate(stated if isinstance(stated, list) else [])
        if isinstance(item, dict)
    }
    indices = list(used)
    if len(properties) == 1 and len(indices) == 1:  # one device that the process saw under another number
        properties = dict.fromkeys(indices, *properties.values())
    return tuple(
        _device(rank, index, properties[index])
        if index in properties
        else _undescribed(rank, index, multiprocessors.get(index))
        for index in indices
    )


def notes(devices: Iterable[Device]) -> Iterator[str]:
    """What is known of devices only by way of their launches."""
    for device in devices:
        if device.sms and not device.name and device.memory_bytes is None:
            generation = f", and so compute capability {device.compute_capability}" if device.compute_capability else ""
            yield f"device {device.index} is not described: {device.sms} SMs by its launches' blocks per SM{generation}"


def multiprocessors(
    device: NDArray[np.int64], blocks: NDArray[np.float64], blocks_per_sm: NDArray[np.float64]
) -> dict[int, int]:
    """How many multiprocessors each device has, from the blocks per SM that its launches state.

    Only where nearly all launches agree: the profiler divides by the same number each time.
    """
    found = {}
    for index in np.unique(device).tolist():
        rows = (device == index) & (blocks > 0) & (blocks_per_sm > 0) & np.isfinite(blocks_per_sm)
        if not rows.any():
            continue
        # The longest grid is the least rounded.
        largest = int(np.argmax(np.where(rows, blocks, 0)))
        count = round(float(blocks[largest] / blocks_per_sm[largest]))
        agreeing = np.isclose(blocks[rows] / max(count, 1), blocks_per_sm[rows], rtol=1e-3, atol=1e-5)
        if 0 < count <= _MOST_SMS and np.mean(agreeing) > _AGREEING:
            found[int(index)] = count
    return found


def _undescribed(rank: int, index: int, multiprocessors: int | None) -> Device:
    """A device the header says nothing of. Only CUDA's profiler states blocks per SM, which gave the SMs."""
    warp_size = 32 if multiprocessors else None
    return Device(
        rank, index, sms=multiprocessors, compute_capability=compute_capability_of(multiprocessors), warp_size=warp_size
    )


def _plausible(count: int, most: int) -> int | None:
    return count if 0 < count <= most else None


def _device(rank: int, index: int, item: dict[str, Any]) -> Device:
    major, minor = (integer(item.get(key), -1) for key in ("computeMajor", "computeMinor"))
    return Device(
        rank=rank,
        index=index,
        name=item["name"] if isinstance(item.get("name"), str) else "",
        sms=_plausible(integer(item.get("numSms"), 0), _MOST_SMS),
        memory_bytes=max(integer(item.get("totalGlobalMem"), 0), 0) or None,
        compute_capability=f"{major}.{minor}" if major >= 0 and minor >= 0 else None,
        warp_size=max(integer(item.get("warpSize"), 0), 0) or None,
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
