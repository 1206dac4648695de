"""Every idle interval of a device, split in time by what it waited for.

For an idle interval [a, b) let E be the device event that starts at b and L the call that launched it. The interval is
cut in this order: starved (no request was runnable); before L: sync (L's thread inside a blocking call), else host;
inside L: launch; after L: graph (L is a graph launch) or queue. Without E or L it is unknown. Nothing is guessed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagtool import host_stack, intervals
from diagtool.context import Context, DeviceWindow
from diagtool.intervals import Intervals, Ns
from diagtool.launches import NO_LAUNCH
from diagtool.timeline import Timeline

NO_CALL = "(no call recorded)"
CLASSES = ("starved", "sync", "host", "launch", "queue", "graph", "unknown")

# Kinds of host work that have a fix of their own, tried in this order. A call counts with all that runs inside it.
HOST_WORK: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("data-loading", re.compile(r"DataLoader|dataloader\.py|## (?:data_load|load_batch|wait_for_batch) ##")),
    (
        "warm-up",
        re.compile(
            r"_dynamo/(?:convert_frame|symbolic_convert|output_graph)|_inductor/(?:compile_fx|codecache|async_compile)"
            r"|dynamo_timed|triton/(?:compiler|runtime/autotuner)|(?:cuda|cu|hip)Module(?:Load|GetFunction)"
            r"|(?:cuda|cu)LibraryLoad|(?:cuda|hip)GraphInstantiate|Lazy Function Loading|nvrtc|hiprtc"
        ),
    ),
    (
        "allocator-churn",
        re.compile(r"^(?:cuda|hip|cu)(?:Malloc|Free|HostAlloc|HostFree|MemCreate|MemMap|MemUnmap|MemRelease|MemAlloc|MemFree)"),
    ),
)  # fmt: skip
# Work that is issued to an idle device starts within a few microseconds; what waits longer waits for something.
START_UP_NS = 20_000
# A launch call takes a few microseconds. One that keeps the device idle this long, and this many times longer than
# the usual call, loads or compiles code.
SLOW_CALL_NS, SLOW_CALL_TIMES = 500_000, 20
# A single gap over this share of the window is named on its own, and the rest is also reported without it.
DOMINANT_SHARE = 0.10

_CAPTURE_BEGIN, _CAPTURE_END = re.compile("StreamBeginCapture"), re.compile("StreamEndCapture")


@dataclass(frozen=True, slots=True)
class Gap:
    """One idle interval: its parts by class, the call that ended it and the work that came."""

    start_ns: int
    end_ns: int
    parts: Mapping[str, int]
    launch_row: int
    event_row: int

    @property
    def length_ns(self) -> int:
        """Length of the interval."""
        return self.end_ns - self.start_ns

    @property
    def main(self) -> str:
        """The class with the largest part."""
        return max(CLASSES, key=lambda name: self.parts[name])


@dataclass(frozen=True, slots=True)
class Split:
    """The idle time of one device. ``by_class`` sums to it; ``host_ns`` and ``outside_ns`` are by cause of host work.

    ``by_name`` is the time of class host by the deepest call that ran (empty name: no recorded call). ``loader_ns`` is
    all idle time inside a data loader. ``graph_holes`` are (count, ns) of waits after a graph launch that its start-up
    does not explain, ``queue_wait_ns`` such waits after plain launches, single gaps of DOMINANT_SHARE apart, and
    ``queue_short_ns`` the plain start-up of launched work. ``slow_calls`` are (count, ns) of idle time inside launch
    calls that load code. ``gaps`` are the longest idle intervals, longest first.
    """

    window: DeviceWindow
    by_class: Mapping[str, int]
    after_sync_ns: int
    host_ns: Mapping[str, int]
    outside_ns: Mapping[str, int]
    by_name: Mapping[str, int]
    outside_by_name: Mapping[str, int]
    loader_ns: int
    graph_holes: tuple[int, int]
    queue_wait_ns: int
    queue_short_ns: int
    slow_calls: tuple[int, int]
    gaps: tuple[Gap, ...]

    @property
    def idle_ns(self) -> int:
        """All idle time of the window."""
        return sum(self.by_class.values())

    @property
    def dominant_gaps(self) -> list[Gap]:
        """The gaps over DOMINANT_SHARE of the window."""
        return [gap for gap in self.gaps if gap.length_ns > DOMINANT_SHARE * self.window.length_ns]


class _Thread:
    """One CPU thread: when it blocks, when it does host work of a known kind, what is deepest."""

    def __init__(self, timeline: Timeline, context: Context, key: tuple[int, int, int]) -> None:
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
        self._stack: host_stack.Segments | None = None

    def work(self) -> dict[str, Intervals]:
        """Time inside host work of each known kind."""
        found = {cause: self._matching(pattern) for cause, pattern in HOST_WORK}
        opened, closed = self._spans(_CAPTURE_BEGIN), self._spans(_CAPTURE_END)
        count = min(len(opened.starts), len(closed.starts))
        if count:
            found["warm-up"] = intervals.join(
                found["warm-up"], intervals.union(opened.starts[:count], closed.ends[:count])
            )
        return found

    def by_name(self, pieces: Intervals) -> dict[str, int]:
        """Time of ``pieces`` by the deepest call of this thread."""
        if self._stack is None:
            self._stack = host_stack.segments(self._starts, self._ends, self._codes.astype(np.int64))
        times = host_stack.time_by_owner(self._stack, pieces)
        return {str(self._names[code]) if code >= 0 else "": ns for code, ns in times.items()}

    def _matching(self, pattern: re.Pattern[str]) -> Intervals:
        spans = self._spans(pattern)
        return intervals.union(spans.starts, spans.ends)

    def _spans(self, pattern: re.Pattern[str]) -> Intervals:
        codes = [code for code in np.unique(self._codes) if pattern.search(str(self._names[code]))]
        rows = np.isin(self._codes, codes)
        return Intervals(self._starts[rows], self._ends[rows])

    def _blocking(self, timeline: Timeline, context: Context) -> Intervals:
        """Synchronize calls, and copies that returned only when the device had finished copying."""
        kind = timeline.host["kind"].to_numpy()[self._rows]
        blocks = kind == "sync"
        copies = self._rows[kind == "copy"]
        if len(copies):
            names = [str(self._names[code]) for code in self._codes[kind == "copy"]]
            waits = np.array(["Memcpy" in name and "Async" not in name for name in names])
            finished = _device_end(timeline, context, copies)
            waits |= (finished >= 0) & (finished <= self._ends[kind == "copy"])
            blocks[kind == "copy"] = waits
        return intervals.union(self._starts[blocks], self._ends[blocks])


def _device_end(timeline: Timeline, context: Context, calls: NDArray[Any]) -> Ns:
    """For each call the end of the last device event it launched, or -1."""
    launched = context.launches != NO_LAUNCH
    order = np.argsort(context.launches[launched], kind="stable")
    rows = context.launches[launched][order]
    ends = timeline.device["end_ns"].to_numpy()[launched][order]
    if not len(rows):
        return np.full(len(calls), -1, np.int64)
    first, last = np.searchsorted(rows, calls, "left"), np.searchsorted(rows, calls, "right")
    return np.array([ends[a:b].max() if b > a else -1 for a, b in zip(first, last, strict=True)], np.int64)


def split(timeline: Timeline, context: Context) -> tuple[Split, ...]:
    """The idle split of every device."""
    threads: dict[tuple[int, int, int], _Thread] = {}

    def thread(key: tuple[int, int, int]) -> _Thread:
        if key not in threads:
            threads[key] = _Thread(timeline, context, key)
        return threads[key]

    return tuple(_split_device(timeline, context, window, thread) for window in context.windows)


def _split_device(timeline: Timeline, context: Context, window: DeviceWindow, thread: Any) -> Split:
    idle = intervals.complement(context.spans(timeline, window), window.start_ns, window.end_ns)
    a, b = idle
    event, launch = _ended_by(timeline, context, window, b)
    host = timeline.host
    known = launch != NO_LAUNCH
    call_start = np.where(known, host["start_ns"].to_numpy()[launch] if len(host) else 0, b)
    call_end = np.where(known, host["end_ns"].to_numpy()[launch] if len(host) else 0, b)
    # What follows the last event of a step window waits for no launch: its step's own thread is looked at.
    trailing = (event == NO_LAUNCH) & (window.step_thread is not None)
    before_end = np.where(known, np.clip(call_start, a, b), np.where(trailing, b, a))
    launch_end = np.where(known, np.clip(call_end, before_end, b), before_end)
    starved = _starved(timeline, window)
    parts = {name: np.zeros(len(a), np.int64) for name in CLASSES}
    parts["starved"] = intervals.covered_between(starved, a, b)
    after_sync_ns = 0
    host_parts: list[dict[str, int]] = [{cause: 0 for cause, _ in HOST_WORK} | {"host-bound": 0}]
    names: list[dict[str, int]] = []
    loading = intervals.EMPTY
    for key, rows in _by_thread(timeline, window, launch, trailing):
        one = thread(key)
        before = Intervals(a[rows], before_end[rows])
        # A thread that blocks after it launched the work that is awaited does no harm: the launch must come later.
        drained = intervals.contains(one.blocking, a[rows]) & (before_end > a)[rows]
        after_sync_ns += int((b - a)[rows][drained].sum())
        taken = intervals.join(starved, one.blocking)
        blocked = intervals.subtract(one.blocking, starved)
        parts["sync"][rows] = intervals.covered_between(blocked, *before)
        parts["host"][rows] = (before.ends - before.starts) - intervals.covered_between(taken, *before)
        running = intervals.subtract(_nonempty(before), taken)
        loading = intervals.join(loading, one.work()["data-loading"])
        host_parts.append(_by_cause(one, running))
        names.append(one.by_name(running))
    parts["launch"] = np.where(known, launch_end - before_end, 0)
    parts["launch"] -= intervals.covered_between(starved, before_end, launch_end) * known
    rest = (b - launch_end) - intervals.covered_between(starved, launch_end, b)
    graph = known & context.graph_launched[event]
    parts["graph"] = np.where(graph, rest, 0)
    parts["queue"] = np.where(known & ~graph, rest, 0)
    parts["unknown"] = np.where(~known, rest, 0)
    holes = parts["graph"][parts["graph"] > START_UP_NS]
    short = parts["queue"] <= START_UP_NS
    waits = parts["queue"][~short & (b - a <= DOMINANT_SHARE * window.length_ns)]
    slow = parts["launch"][parts["launch"] > _slow_call(timeline, context, window)]
    outside_ns, outside_by_name = _outside(window, thread)
    return Split(
        window=window,
        by_class={name: int(values.sum()) for name, values in parts.items()},
        after_sync_ns=after_sync_ns,
        host_ns=summed(host_parts),
        outside_ns=outside_ns,
        by_name=summed(names),
        outside_by_name=outside_by_name,
        loader_ns=intervals.intersect(idle, loading).total_ns,
        graph_holes=(len(holes), int(holes.sum())),
        queue_wait_ns=int(waits.sum()),
        queue_short_ns=int(parts["queue"][short].sum()),
        slow_calls=(len(slow), int(slow.sum())),
        gaps=_gaps(a, b, parts, launch, event),
    )


def _slow_call(timeline: Timeline, context: Context, window: DeviceWindow) -> float:
    """From which length on idle time inside a launch call is not the call's usual cost."""
    calls = context.launches[window.rows]
    calls = np.unique(calls[calls != NO_LAUNCH])
    if not len(calls):
        return SLOW_CALL_NS
    usual = np.median(timeline.host["end_ns"].to_numpy()[calls] - timeline.host["start_ns"].to_numpy()[calls])
    return max(float(usual) * SLOW_CALL_TIMES, SLOW_CALL_NS)


def _ended_by(
    timeline: Timeline, context: Context, window: DeviceWindow, ends: Ns
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each end of an idle interval the device row that starts there and its launch; -1 where there is none.

    Of several that start at once the first whose launch is known.
    """
    starts = timeline.device["start_ns"].to_numpy()[window.rows]
    first, last = np.searchsorted(starts, ends, "left"), np.searchsorted(starts, ends, "right")
    count = len(window.rows)
    matched = np.flatnonzero(context.launches[window.rows] != NO_LAUNCH)
    # For each position the next one whose launch is known; behind the last there is none.
    following = np.append(matched, count)[np.searchsorted(matched, first)]
    position = np.where(following < last, following, first)
    starting = first < last
    event = np.where(starting, window.rows[np.minimum(position, count - 1)], NO_LAUNCH)
    return event, np.where(starting, context.launches[event], NO_LAUNCH)


def _by_thread(
    timeline: Timeline, window: DeviceWindow, launch: NDArray[np.int64], trailing: NDArray[np.bool_]
) -> Iterator[tuple[tuple[int, int, int], NDArray[Any]]]:
    """(rank, process, thread) with the idle intervals that its calls, or the step it marks, answer for."""
    host = timeline.host
    known = np.flatnonzero(launch != NO_LAUNCH)
    keys = np.stack([host[name].to_numpy()[launch[known]] for name in ("rank", "process", "thread")], axis=1)
    if window.step_thread is not None:
        rest = np.flatnonzero(trailing)
        known = np.concatenate((known, rest))
        keys = np.concatenate((keys, np.tile((window.rank, *window.step_thread), (len(rest), 1))))
    owners, owner = np.unique(keys, axis=0, return_inverse=True)
    for number, key in enumerate(owners.tolist()):
        yield (key[0], key[1], key[2]), np.sort(known[owner.ravel() == number])


def _starved(timeline: Timeline, window: DeviceWindow) -> Intervals:
    steps = timeline.steps.loc[timeline.steps["rank"] == window.rank]
    if not len(steps):
        return intervals.EMPTY
    empty = ((steps["running"] == 0) & (steps["waiting"] == 0)).fillna(False).to_numpy(bool)
    return intervals.union(steps["start_ns"].to_numpy()[empty], steps["end_ns"].to_numpy()[empty])


def _outside(window: DeviceWindow, thread: Any) -> tuple[dict[str, int], dict[str, int]]:
    """Judged step time outside the window, by cause (sync among them) and by deepest call."""
    if window.step_thread is None or not len(window.judged_outside.starts):
        return {}, {}
    one = thread((window.rank, *window.step_thread))
    running = intervals.subtract(window.judged_outside, one.blocking)
    by_cause = _by_cause(one, running)
    by_cause["sync"] = window.judged_outside.total_ns - running.total_ns
    return by_cause, one.by_name(running)


def _by_cause(thread: _Thread, running: Intervals) -> dict[str, int]:
    found, rest = {}, running
    for cause, spans in thread.work().items():
        left = intervals.subtract(rest, spans)
        found[cause] = rest.total_ns - left.total_ns
        rest = left
    return {**found, "host-bound": rest.total_ns}


def _gaps(
    a: Ns, b: Ns, parts: Mapping[str, Ns], launch: NDArray[np.int64], event: NDArray[np.int64]
) -> tuple[Gap, ...]:
    """The longest intervals, longest first."""
    longest = np.argsort(a - b, kind="stable")[:10]
    return tuple(
        Gap(
            start_ns=int(a[i]),
            end_ns=int(b[i]),
            parts={name: int(values[i]) for name, values in parts.items()},
            launch_row=int(launch[i]),
            event_row=int(event[i]),
        )
        for i in longest
    )  # fmt: skip


def _nonempty(spans: Intervals) -> Intervals:
    keep = spans.ends > spans.starts
    return Intervals(spans.starts[keep], spans.ends[keep])


def summed(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Key-wise sum."""
    total: dict[str, int] = {}
    for part in parts:
        for name, ns in part.items():
            total[name] = total.get(name, 0) + ns
    return total


def deepest_calls(splits: Sequence[Split]) -> list[tuple[str, int]]:
    """(name, ns) of the host work that was waited for, inside and outside the windows, longest first."""
    total = summed([one.by_name for one in splits] + [one.outside_by_name for one in splits])
    return sorted(((name or NO_CALL, ns) for name, ns in total.items()), key=lambda item: -item[1])


def name_of(frame: pd.DataFrame, row: int) -> str:
    """Name of a row of ``host`` or ``device``; ``unknown`` where there is none."""
    return str(frame["name"].iat[row]) if row != NO_LAUNCH else "unknown"
