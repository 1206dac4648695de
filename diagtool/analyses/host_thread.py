"""One CPU thread as the device sees it: when it blocks, which known kind of work it does, what is deepest."""

import re
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diagtool import host_stack, intervals
from diagtool.context import Context
from diagtool.grouping import distinct
from diagtool.intervals import Intervals, Ns
from diagtool.launches import NO_LAUNCH
from diagtool.timeline import Timeline

ThreadKey = tuple[int, int, int]
"""(rank, process, thread)."""

# What a program does once and a recording should not hold.
START_UP_WORK: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "compile",
        re.compile(
            # Only the functions that compile: those that run what was compiled live in the same files.
            r"_dynamo/(?:convert_frame|symbolic_convert|output_graph)|dynamo_timed|nvrtc|hiprtc"
            r"|_inductor/compile_fx\.py\(\d+\): \w*(?:compile|codegen)"
            r"|_inductor/(?:codecache|async_compile)\.py\(\d+\): (?:compile|load|triton|wait)"
            r"|triton/compiler/(?:code_generator\.py|compiler\.py\(\d+\): (?:compile|make_))"
        ),
    ),
    (
        "autotune",
        re.compile(r"triton/runtime/autotuner\.py\(\d+\): (?:_?bench|check_disk)|triton/testing\.py\(\d+\): do_bench"),
    ),
    (
        "load code",
        re.compile(r"(?:cuda|cu|hip)Module(?:Load|GetFunction)|(?:cuda|cu)LibraryLoad|Lazy Function Loading"),
    ),
    ("instantiate graph", re.compile(r"(?:cuda|hip)GraphInstantiate")),
)
# Kinds of host work that have a fix of their own, tried in this order. A call counts with all that runs inside it.
HOST_WORK: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("data-loading", re.compile(r"DataLoader|dataloader\.py|## (?:data_load|load_batch|wait_for_batch) ##")),
    ("warm-up", re.compile("|".join(pattern.pattern for _, pattern in START_UP_WORK))),
    (
        "allocator-churn",
        re.compile(r"^(?:cuda|hip|cu)(?:Malloc|Free|HostAlloc|HostFree|MemCreate|MemMap|MemUnmap|MemRelease|MemAlloc|MemFree)"),
    ),
)  # fmt: skip
# An allocation or free this long does more than allocate.
START_UP_CALL_NS = 50_000_000
_PLAIN_COPY = re.compile(r"(?:cuda|hip|cu)Memcpy(?!.*Async)")
_CAPTURE_BEGIN, _CAPTURE_END = re.compile("StreamBeginCapture"), re.compile("StreamEndCapture")


class HostThread:
    """One CPU thread: when it blocks, when it does host work of a known kind, what is deepest."""

    def __init__(self, timeline: Timeline, context: Context, key: ThreadKey) -> None:
        host = timeline.host
        rank, process, thread = key
        self._rows = np.flatnonzero(
            (host["rank"].to_numpy() == rank)
            & (host["process"].to_numpy() == process)
            & (host["thread"].to_numpy() == thread)
        )
        self._starts = host["start_ns"].to_numpy()[self._rows]
        self._ends = host["end_ns"].to_numpy()[self._rows]
        self._codes = host["name"].cat.codes.to_numpy()[self._rows]
        self._names = host["name"].cat.categories
        self.blocking = self._blocking(timeline, context)

    @cached_property
    def _distinct_codes(self) -> list[int]:
        return [int(code) for code in distinct(self._codes.astype(np.int64))]

    @cached_property
    def work(self) -> dict[str, Intervals]:
        """Time inside host work of each known kind."""
        found = {cause: self._matching(pattern) for cause, pattern in HOST_WORK}
        opened, closed = self._spans(_CAPTURE_BEGIN), self._spans(_CAPTURE_END)
        following = np.searchsorted(closed.starts, opened.ends)
        ended = following < len(closed.starts)
        captures = intervals.union(opened.starts[ended], closed.ends[following[ended]])
        # The first call of a process that allocates or frees also makes the context: that is start-up, not churn.
        calls = found["allocator-churn"]
        long = calls.ends - calls.starts > START_UP_CALL_NS
        found["warm-up"] = intervals.join(found["warm-up"], captures, Intervals(calls.starts[long], calls.ends[long]))
        return found

    def by_name(self, pieces: Intervals) -> dict[str, int]:
        """Time of ``pieces`` by the deepest call of this thread."""
        times = host_stack.time_by_owner(self._stack, pieces)
        return {str(self._names[code]) if code >= 0 else "": ns for code, ns in times.items()}

    @cached_property
    def _stack(self) -> host_stack.Segments:
        return host_stack.segments(self._starts, self._ends, self._codes.astype(np.int64))

    def _matching(self, pattern: re.Pattern[str]) -> Intervals:
        spans = self._spans(pattern)
        return intervals.union(spans.starts, spans.ends)

    def _spans(self, pattern: re.Pattern[str]) -> Intervals:
        codes = [code for code in self._distinct_codes if pattern.search(str(self._names[code]))]
        rows = np.isin(self._codes, codes)
        return Intervals(self._starts[rows], self._ends[rows])

    def _blocking(self, timeline: Timeline, context: Context) -> Intervals:
        """Synchronize calls, and copies that the host waits for.

        A plain cudaMemcpy or hipMemcpy waits. An asynchronous one does when its memory is not known to be pinned and
        it returned only after the device had finished copying.
        """
        kind = timeline.host["kind"].to_numpy()[self._rows]
        blocks = kind == "sync"
        copies = np.flatnonzero(kind == "copy")
        if len(copies):
            names = [str(self._names[code]) for code in self._codes[copies]]
            plain = np.array([_PLAIN_COPY.match(name) is not None for name in names], np.bool_)
            finished = _copy_end(timeline, context, self._rows[copies])
            blocks[copies] = plain | ((finished >= 0) & (finished <= self._ends[copies]))
        return intervals.union(self._starts[blocks], self._ends[blocks])


def _copy_end(timeline: Timeline, context: Context, calls: NDArray[Any]) -> Ns:
    """For each call the end of the last copy it launched from memory that may be pageable, or -1."""
    device = timeline.device
    names = device["name"].cat.categories
    pinned = np.array(["Pinned" in str(name) for name in names], np.bool_)
    counts = (context.launches != NO_LAUNCH) & (device["kind"].to_numpy() == "copy")
    counts &= ~pinned[device["name"].cat.codes.to_numpy()]
    order = np.argsort(context.launches[counts], kind="stable")
    rows = context.launches[counts][order]
    ends = device["end_ns"].to_numpy()[counts][order]
    first, last = np.searchsorted(rows, calls, "left"), np.searchsorted(rows, calls, "right")
    return np.array([ends[a:b].max() if b > a else -1 for a, b in zip(first, last, strict=True)], np.int64)
