"""Arguments of Kineto events: many decoded in one go, odd ones one by one, numbers made safe."""

import math
import re
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from diagtool.readers.stamps import LIMIT_NS


class DeviceArgs(msgspec.Struct, gc=False):
    """Arguments of a device event; both spellings where Kineto changed one."""

    correlation: int | str | float | None = None
    device: int | str | float | None = None
    stream: int | str | float | None = None
    bytes: int | str | float | None = None
    grid: list[int] | None = None
    block: list[int] | None = None
    registers: int | float | None = msgspec.field(name="registers per thread", default=None)
    shared_memory: int | float | None = msgspec.field(name="shared memory", default=None)
    occupancy: int | float | None = msgspec.field(name="est. achieved occupancy %", default=None)
    old_occupancy: int | float | None = msgspec.field(name="theoretical occupancy %", default=None)
    graph: int | str | float | None = msgspec.field(name="graph id", default=None)
    graph_node: int | str | float | None = msgspec.field(name="graph node id", default=None)
    blocks_per_sm: int | float | None = msgspec.field(name="blocks per SM", default=None)
    group: str | None = msgspec.field(name="Process Group Name", default=None)
    collective: str | None = msgspec.field(name="Collective name", default=None)
    elements_in: int | float | None = msgspec.field(name="In msg nelems", default=None)
    elements_out: int | float | None = msgspec.field(name="Out msg nelems", default=None)
    element_type: str | None = msgspec.field(name="dtype", default=None)


class CallArgs(msgspec.Struct, gc=False):
    correlation: int | str | float | None = None


# Element types as the profiler writes them for collectives.
_ELEMENT_BYTES = {
    "byte": 1, "char": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1,
    "short": 2, "half": 2, "bfloat16": 2, "int": 4, "float": 4, "long": 8, "double": 8,
}  # fmt: skip

_LIST_DECODERS: dict[Any, msgspec.json.Decoder[list[Any]]] = {
    DeviceArgs: msgspec.json.Decoder(list[DeviceArgs]),
    CallArgs: msgspec.json.Decoder(list[CallArgs]),
}


def decoded(raws: list[msgspec.Raw], shape: type[Any]) -> list[Any]:
    """Arguments of many events in one go; a single odd one makes each be looked at by itself."""
    if not raws:
        return []
    try:
        text = b"[" + b",".join([raw if raw else b"{}" for raw in raws]) + b"]"
        return _LIST_DECODERS[shape].decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [_leniently(raw, shape) for raw in raws]


def _leniently(raw: msgspec.Raw, shape: type[Any]) -> Any:
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        given = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return shape()
    good = {}
    for item in msgspec.structs.fields(shape) if isinstance(given, dict) else ():
        if item.encode_name in given:
            try:
                good[item.name] = msgspec.convert(given[item.encode_name], item.type)
            except msgspec.ValidationError:
                continue
    return shape(**good)


def message_bytes(args: DeviceArgs) -> float | None:
    """Bytes of the message of a collective: the larger of what goes in and out, as bandwidths are stated for."""
    size = _ELEMENT_BYTES.get((args.element_type or "").lower())
    elements = [one for one in (args.elements_in, args.elements_out) if one is not None]
    return max(elements) * size if size and elements else None


def integer(value: Any, otherwise: int) -> int:
    """A whole number from a number or its text; ``otherwise`` when it is none."""
    if type(value) is int:
        return value if abs(value) < LIMIT_NS else otherwise
    if isinstance(value, float) and value.is_integer() and abs(value) < LIMIT_NS:
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,18}\s*", value):
        return int(value)
    return otherwise


def product(sizes: list[int] | None) -> float | None:
    """Blocks of a grid or threads of a block; None for none, which cannot be."""
    try:
        return float(math.prod(map(float, sizes))) or None if sizes else None
    except OverflowError:
        return None


def counts(values: list[Any]) -> NDArray[np.float64]:
    """Whole numbers from 0 to 2**53, NaN for all else."""
    numbers = real(values)
    with np.errstate(invalid="ignore"):
        numbers[~((numbers >= 0) & (numbers <= 2**53) & (numbers == np.floor(numbers)))] = np.nan
    return numbers


def real(values: list[Any]) -> NDArray[np.float64]:
    """Numbers, NaN for what is none."""
    try:
        return np.array([np.nan if value is None else value for value in values], np.float64)
    except (ValueError, TypeError, OverflowError):
        return np.array([_float(value) for value in values], np.float64)


def _float(value: Any) -> float:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return np.nan
