"""Which table and kind an event of a Kineto trace belongs to, by its category, and its name where that says more."""

import re
from typing import NamedTuple

# Category (lower case) -> kind of a device row. Kineto wrote capitals until 2022.
_DEVICE = {
    "kernel": "kernel",
    "mtia_ccp_events": "kernel",
    "gpu_memcpy": "copy",
    "memcpy": "copy",
    "gpu_memset": "set",
    "memset": "set",
}
_CALL = "call"
_HOST = {
    "cpu_op": "op",
    "operator": "op",
    "user_annotation": "range",
    "python_function": "python",
    "runtime": _CALL,
    "overhead": "other",
}
CALL_KINDS = frozenset({"sync", "copy", "launch", "other"})
_CALL_SUFFIXES = ("_runtime", "_driver")

_CALL_NAMES = (
    ("sync", re.compile(r"synchronize|^ur(?:EventWait|QueueFinish)$", re.IGNORECASE)),
    ("copy", re.compile(r"mem(?:cpy|set)", re.IGNORECASE)),
    ("launch", re.compile(r"launch|submit", re.IGNORECASE)),
)
_RANGE_OP = re.compile(r"^(?:ProfilerStep#|enumerate\(DataLoader\)|Optimizer\.|## )")
_DMA = re.compile(r"^dma_", re.IGNORECASE)


class Label(NamedTuple):
    """What all events of one category and name have in common."""

    table: str
    kind: str
    name: str


def label_of(category: str | None, name: str) -> Label | None:
    """The label of an event; None for what is neither host nor device work."""
    family = _family(category)
    return Label(family[0], _kind(*family, name), name) if family else None


def _family(category: str | None) -> tuple[str, str] | None:
    """(table, kind) of a category; None for what is neither host nor device work."""
    if category is None:
        return None
    lower = category.lower()
    if lower in _DEVICE:
        return "device", _DEVICE[lower]
    if lower in _HOST:
        return "host", _HOST[lower]
    return ("host", _CALL) if lower.endswith(_CALL_SUFFIXES) else None


def _kind(table: str, kind: str, name: str) -> str:
    """The kind of a row, where the name says more than the category."""
    if kind == _CALL:
        return next((word for word, pattern in _CALL_NAMES if pattern.search(name)), "other")
    if kind == "op" and _RANGE_OP.match(name):  # until 2022 annotations had the category of operators
        return "range"
    return "copy" if table == "device" and kind == "kernel" and _DMA.match(name) else kind
