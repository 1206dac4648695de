"""Files we recognise but cannot read as a timeline: what they are, what is missing, how to record one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from diagtool.errors import DiagtoolError, UnreadableInput, UnsupportedFormat

RECORD_TRACE = "record one with torch.profiler and prof.export_chrome_trace(path)"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A format by its first bytes, what it lacks and what to do instead."""

    title: str
    sniff: Callable[[bytes], bool]
    lacks: str
    hint: str = RECORD_TRACE


def _starts(*magic: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(magic)


def _json_with(*patterns: bytes) -> Callable[[bytes], bool]:
    return lambda head: all(re.search(pattern, head) for pattern in patterns)


PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")

FOREIGN: tuple[Foreign, ...] = (
    Foreign("an Nsight Systems SQLite export or another SQLite database", _starts(b"SQLite format 3\0"),
            "this version does not read it"),
    Foreign("an Nsight Compute report", _starts(b"NVR\0"), "it holds counters, no times"),
    Foreign("a pickle, perhaps a PyTorch allocator snapshot", _starts(*PICKLES),
            "it holds memory, no times"),
    Foreign("a zip archive, perhaps of torch.save", _starts(b"PK\x03\x04"), "it holds no times"),
    Foreign("an HTML page", _json_with(rb"(?i)\A\s*<(?:!doctype|html)"), "it holds no trace"),
    Foreign("a metrics page", _json_with(rb"(?m)\A# (?:HELP|TYPE) "), "it holds counters of a server, no times"),
    Foreign("an rocprofv3 result", _json_with(rb'"rocprofiler-sdk-tool"'), "this version does not read it",
            "export a Chrome trace from the PyTorch profiler, which records HIP activity too"),
    Foreign("a Chakra execution trace", _json_with(rb'"schema"\s*:', rb'"nodes"\s*:\s*\['),
            "it holds the graph of operators, no device events",
            "use the profiler's trace of the same run: prof.export_chrome_trace(path)"),
    Foreign("a Proton profile", _json_with(rb'\A\s*\[\s*\{\s*"(?:children|frame)"'), "it holds sums, no times"),
    Foreign("a diagnosis", _json_with(rb'\A\s*\{\s*"schema"\s*:\s*\d+', rb'"source"\s*:'), "it is read by itself",
            "give it as the only TARGET"),
    Foreign("a PyTorch memory timeline", _json_with(rb"\A\s*\[\s*\["), "it holds memory over time, no device events",
            "use prof.export_chrome_trace(path) instead of export_memory_timeline"),
    Foreign("JSON without traceEvents", _json_with(rb"\A\s*[\[{]"), "it holds no list of events"),
)  # fmt: skip


def is_unknown_json(head: bytes) -> bool:
    """JSON of which the first bytes do not say what it is."""
    return next((known for known in FOREIGN if known.sniff(head)), None) is FOREIGN[-1]


def refusal(path: Path, head: bytes, readable: Sequence[str]) -> DiagtoolError:
    """The error for a file that no format claims."""
    if not head.strip(b" \t\r\n\0"):
        return UnreadableInput(f"{path}: the file is empty", RECORD_TRACE)
    text = head.lstrip(b"\xef\xbb\xbf")
    for known in FOREIGN:
        if known.sniff(text):
            return UnsupportedFormat(f"{path}: {known.title}, not a timeline: {known.lacks}", known.hint)
    return UnsupportedFormat(f"{path}: not a {' or '.join(readable)}", RECORD_TRACE)
