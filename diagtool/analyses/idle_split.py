"""Every idle interval of a device, split in time by what it waited for.

For an idle interval [a, b) let E be the device event that starts at b and L the call that launched it. The interval is
cut in this order: starved (no request was runnable); before L: sync (L's thread inside a blocking call), else host;
inside L: launch; after L: graph (L is a graph launch) or queue. Without E or L it is unknown. Nothing is guessed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagtool import intervals
from diagtool.analyses.host_thread import HOST_WORK, HostThread, ThreadKey
from diagtool.context import Context, DeviceWindow
from diagtool.grouping import distinct, groups
from diagtool.intervals import EMPTY, Intervals, Ns
from diagtool.launches import NO_LAUNCH
from diagtool.metrics import IDLE_CLASSES
from diagtool.timeline import Timeline

NO_CALL = "(no call recorded)"

# Work that is issued to an idle device starts within a few microseconds; what waits longer waits for something.
START_UP_NS = 20_000
# A launch call takes a few microseconds. One that keeps the device idle this long, and this many times longer than
# the usual call of its name, loads or compiles code.
SLOW_CALL_NS, SLOW_CALL_TIMES, SLOW_CALL_OF = 500_000, 20, 3
# A single gap over this share of the window is named on its own, and the rest is also reported without it.
DOMINANT_SHARE = 0.10


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
        return max(IDLE_CLASSES, key=lambda name: self.parts[name])


@dataclass(frozen=True, slots=True)
class Split:
    """The idle time of one device; ``by_class`` sums to it. All values are nanoseconds.

    ``host_ns`` and ``outside_ns``: class host, and judged step time outside the window, by cause of host work.
    ``by_name``, ``outside_by_name``: the same by the deepest call that ran (empty name: no recorded call);
    ``host_bound_by_name``: the part of both that no known kind of host work claims.
    ``loader_ns``: all idle time inside a data loader.
    ``graph_holes``: (count, ns, longest ns) of waits after a graph launch that its start-up does not explain.
    ``start_up_ns``: pieces of class queue and graph within START_UP_NS, which every launch and every node costs;
    ``queue_wait_ns``, ``untraced_ns``: longer ones of class queue, and single dominant gaps (``untraced_gaps``).
    ``starved_known``: whether the step marks say how many requests were runnable.
    ``slow_calls``: (count, ns) of idle time inside launch calls that load code.
    ``gaps``: the longest idle intervals, longest first.
    """

    window: DeviceWindow
    by_class: Mapping[str, int]
    after_sync_ns: int
    host_ns: Mapping[str, int]
    outside_ns: Mapping[str, int]
    by_name: Mapping[str, int]
    outside_by_name: Mapping[str, int]
    host_bound_by_name: Mapping[str, int]
    loader_ns: int
    graph_holes: tuple[int, int, int]
    untraced_ns: int
    starved_known: bool
    queue_wait_ns: int
    start_up_ns: int
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

    @property
    def untraced_gaps(self) -> list[Gap]:
        """The dominant gaps of which most passed after a plain launch had returned."""
        return [gap for gap in self.dominant_gaps if gap.parts["queue"] > max(START_UP_NS, gap.length_ns / 2)]


_Threads = Callable[[ThreadKey], HostThread]


def split(timeline: Timeline, context: Context) -> tuple[Split, ...]:
    """The idle split of every device."""

    @cache
    def thread(key: ThreadKey) -> HostThread:
        return HostThread(timeline, context, key)

    return tuple(_split_device(timeline, context, window, thread) for window in context.windows)


class _Cuts(NamedTuple):
    """The idle intervals [a, b) of a device and where each is cut: before L, inside L, after L.

    ``event`` and ``launch`` are the rows of E and L, or -1; an interval without L has its cuts where nothing is
    before or inside a launch.
    """

    a: Ns
    b: Ns
    event: NDArray[np.int64]
    launch: NDArray[np.int64]
    before_end: Ns
    launch_end: Ns
    call_end: Ns
    trailing: NDArray[np.bool_]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which intervals have a launch."""
        known: NDArray[np.bool_] = self.launch != NO_LAUNCH
        return known


@dataclass(slots=True)
class _Before:
    """What the launching threads did before their launches, gathered thread by thread."""

    sync: Ns
    host: Ns
    after_sync_ns: int = 0
    loading: Intervals = EMPTY
    causes: list[dict[str, int]] = field(default_factory=list)
    names: list[dict[str, int]] = field(default_factory=list)
    host_bound_names: list[dict[str, int]] = field(default_factory=list)


def _split_device(timeline: Timeline, context: Context, window: DeviceWindow, thread: _Threads) -> Split:
    cuts = _cut(timeline, context, window)
    starved = _starved(timeline, window)
    before = _before(timeline, window, cuts, starved, thread)
    parts = _parts(context, cuts, starved, before)
    length, queue = cuts.b - cuts.a, parts["queue"]
    untraced = (length > DOMINANT_SHARE * window.length_ns) & (queue > START_UP_NS) & (queue * 2 > length)
    starting = ~untraced & (queue <= START_UP_NS)
    graph = parts["graph"]
    holes = graph[graph > START_UP_NS]
    slow = parts["launch"][_slow(timeline, context, window, cuts, parts["launch"])]
    outside_ns, outside_by_name, outside_bound = _outside(window, thread)
    return Split(
        window=window,
        by_class={name: int(values.sum()) for name, values in parts.items()},
        after_sync_ns=before.after_sync_ns,
        host_ns=summed([{cause: 0 for cause, _ in HOST_WORK} | {"host-bound": 0}, *before.causes]),
        outside_ns=outside_ns,
        by_name=summed(before.names),
        outside_by_name=outside_by_name,
        host_bound_by_name=summed([*before.host_bound_names, outside_bound]),
        loader_ns=intervals.intersect(Intervals(cuts.a, cuts.b), before.loading).total_ns,
        graph_holes=(len(holes), int(holes.sum()), int(holes.max(initial=0))),
        untraced_ns=int(queue[untraced].sum()),
        starved_known=_knows_starved(timeline, window),
        queue_wait_ns=int(queue[~untraced & ~starting].sum()),
        start_up_ns=int(queue[starting].sum() + graph[graph <= START_UP_NS].sum()),
        slow_calls=(len(slow), int(slow.sum())),
        gaps=_gaps(cuts, parts),
    )


def _cut(timeline: Timeline, context: Context, window: DeviceWindow) -> _Cuts:
    a, b = intervals.complement(context.spans(timeline, window), window.start_ns, window.end_ns)
    event, launch = _ended_by(timeline, context, window, b)
    known = launch != NO_LAUNCH
    # What follows the last event of all waits for no launch: the thread that marks the steps is looked at.
    trailing = (event == NO_LAUNCH) & window.by_steps & _recorded(timeline, window)
    call_start, call_end = a.copy(), a.copy()
    call_start[known] = timeline.host["start_ns"].to_numpy()[launch[known]]
    call_end[known] = timeline.host["end_ns"].to_numpy()[launch[known]]
    before_end = np.where(trailing, b, np.clip(call_start, a, b))
    launch_end = np.clip(call_end, before_end, b)
    return _Cuts(a, b, event, launch, before_end, launch_end, call_end, trailing)


def _before(timeline: Timeline, window: DeviceWindow, cuts: _Cuts, starved: Intervals, thread: _Threads) -> _Before:
    found = _Before(np.zeros(len(cuts.a), np.int64), np.zeros(len(cuts.a), np.int64))
    for key, rows in _by_thread(timeline, window, cuts):
        one = thread(key)
        a, b, end = cuts.a[rows], cuts.b[rows], cuts.before_end[rows]
        # A thread that blocks after it launched the work that is awaited does no harm: the launch must come later.
        drained = intervals.contains(one.blocking, a) & (end > a)
        found.after_sync_ns += int((b - a)[drained].sum())
        taken = intervals.join(starved, one.blocking)
        found.sync[rows] = intervals.covered_between(intervals.subtract(one.blocking, starved), a, end)
        found.host[rows] = (end - a) - intervals.covered_between(taken, a, end)
        running = intervals.subtract(intervals.union(a, end), taken)
        causes, host_bound = _by_cause(one, running)
        found.loading = intervals.join(found.loading, one.work["data-loading"])
        found.causes.append(causes)
        found.names.append(one.by_name(running))
        found.host_bound_names.append(one.by_name(host_bound))
    return found


def _parts(context: Context, cuts: _Cuts, starved: Intervals, before: _Before) -> dict[str, Ns]:
    """Nanoseconds of each idle interval by class; they sum to its length."""
    known = cuts.known
    inside = cuts.launch_end - cuts.before_end - intervals.covered_between(starved, cuts.before_end, cuts.launch_end)
    after = cuts.b - cuts.launch_end - intervals.covered_between(starved, cuts.launch_end, cuts.b)
    graph = known.copy()
    graph[known] = context.graph_launched[cuts.event[known]]
    return {
        "starved": intervals.covered_between(starved, cuts.a, cuts.b),
        "sync": before.sync,
        "host": before.host,
        "launch": inside,
        "queue": np.where(known & ~graph, after, 0),
        "graph": np.where(graph, after, 0),
        "unknown": np.where(known, 0, after),
    }


def _slow(timeline: Timeline, context: Context, window: DeviceWindow, cuts: _Cuts, inside: Ns) -> NDArray[np.bool_]:
    """Which idle intervals lie inside a launch call that takes far longer than others of its name."""
    host = timeline.host
    calls = context.launches[window.rows]
    calls = distinct(calls[calls != NO_LAUNCH])
    if not len(calls):
        return np.zeros(len(inside), np.bool_)
    lengths = host["end_ns"].to_numpy()[calls] - host["start_ns"].to_numpy()[calls]
    names = host["name"].cat.codes.to_numpy().astype(np.int64)
    usual = {int(code): float(np.median(lengths[names[calls] == code])) for code in distinct(names[calls])
             if np.count_nonzero(names[calls] == code) >= SLOW_CALL_OF}  # fmt: skip
    limits = {code: max(length * SLOW_CALL_TIMES, SLOW_CALL_NS) for code, length in usual.items()}
    limit = np.array([limits.get(int(names[row]), np.inf) if row != NO_LAUNCH else np.inf for row in cuts.launch])
    slow: NDArray[np.bool_] = inside > limit
    return slow


def _ended_by(
    timeline: Timeline, context: Context, window: DeviceWindow, ends: Ns
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each end of an idle interval the device row that starts there and its launch; -1 where there is none.

    Of several that start at once the first whose launch is known.
    """
    starts = timeline.device["start_ns"].to_numpy()[window.rows]
    first, last = np.searchsorted(starts, ends, "left"), np.searchsorted(starts, ends, "right")
    count = len(window.rows)
    if not count:
        event = np.where(ends == window.end_ns, window.next_row, NO_LAUNCH)
        return event, np.where(event != NO_LAUNCH, context.launches[event], NO_LAUNCH)
    matched = np.flatnonzero(context.launches[window.rows] != NO_LAUNCH)
    # For each position the next one whose launch is known; behind the last there is none.
    following = np.append(matched, count)[np.searchsorted(matched, first)]
    position = np.where(following < last, following, first)
    starting = first < last
    event = np.where(starting, window.rows[np.minimum(position, count - 1)], NO_LAUNCH)
    # The last interval of a step window ends with the device's next event, though that is not in the window.
    event[~starting & (ends == window.end_ns)] = window.next_row
    return event, np.where(event != NO_LAUNCH, context.launches[event], NO_LAUNCH)


def _by_thread(timeline: Timeline, window: DeviceWindow, cuts: _Cuts) -> Iterator[tuple[ThreadKey, NDArray[np.int64]]]:
    """Each thread with the idle intervals that its launches, or the step it marks, answer for."""
    host = timeline.host
    rows = np.flatnonzero(cuts.known)
    keys = [host[name].to_numpy()[cuts.launch[rows]] for name in ("rank", "process", "thread")]
    if window.step_thread is not None and cuts.trailing.any():
        trailing = np.flatnonzero(cuts.trailing)
        rows = np.concatenate((rows, trailing))
        owner = (window.rank, *window.step_thread)
        keys = [np.concatenate((key, np.full(len(trailing), own))) for key, own in zip(keys, owner, strict=True)]
    for (rank, process, thread), found in groups(*keys):
        yield (rank, process, thread), np.sort(rows[found])


def _recorded(timeline: Timeline, window: DeviceWindow) -> bool:
    """Whether the recording is known to have covered the end of the window."""
    span = timeline.recording_ns.get(window.rank)
    return span is not None and span[1] >= window.end_ns


def _knows_starved(timeline: Timeline, window: DeviceWindow) -> bool:
    steps = timeline.steps.loc[timeline.steps["rank"] == window.rank]
    return bool((steps["running"].notna() & steps["waiting"].notna()).any())


def _starved(timeline: Timeline, window: DeviceWindow) -> Intervals:
    steps = timeline.steps.loc[timeline.steps["rank"] == window.rank]
    if not len(steps):
        return intervals.EMPTY
    empty = ((steps["running"] == 0) & (steps["waiting"] == 0)).fillna(False).to_numpy(bool)
    return intervals.union(steps["start_ns"].to_numpy()[empty], steps["end_ns"].to_numpy()[empty])


def _outside(window: DeviceWindow, thread: _Threads) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Judged step time outside the window: by cause (sync among them), by deepest call, and that of host-bound."""
    if window.step_thread is None or not len(window.judged_outside.starts):
        return {}, {}, {}
    one = thread((window.rank, *window.step_thread))
    running = intervals.subtract(window.judged_outside, one.blocking)
    by_cause, rest = _by_cause(one, running)
    by_cause["sync"] = window.judged_outside.total_ns - running.total_ns
    return by_cause, one.by_name(running), one.by_name(rest)


def _by_cause(thread: HostThread, running: Intervals) -> tuple[dict[str, int], Intervals]:
    """Time by cause of host work, and the pieces that are host-bound because no known kind of work claims them."""
    found, rest = {}, running
    for cause, spans in thread.work.items():
        left = intervals.subtract(rest, spans)
        found[cause] = rest.total_ns - left.total_ns
        rest = left
    return {**found, "host-bound": rest.total_ns}, rest


def _gaps(cuts: _Cuts, parts: Mapping[str, Ns]) -> tuple[Gap, ...]:
    """The longest intervals, longest first."""
    longest = np.argsort(cuts.a - cuts.b, kind="stable")[:10]
    return tuple(
        Gap(
            start_ns=int(cuts.a[i]),
            end_ns=int(cuts.b[i]),
            parts={name: int(values[i]) for name, values in parts.items()},
            launch_row=int(cuts.launch[i]),
            event_row=int(cuts.event[i]),
        )
        for i in longest
    )


def summed(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Key-wise sum."""
    total: dict[str, int] = {}
    for part in parts:
        for name, ns in part.items():
            total[name] = total.get(name, 0) + ns
    return total


def longest_first(parts: Iterable[Mapping[str, int]]) -> list[tuple[str, int]]:
    """(name, ns) of host work summed over parts, longest first."""
    total = summed(parts)
    return sorted(((name or NO_CALL, ns) for name, ns in total.items()), key=lambda item: -item[1])


def name_of(frame: pd.DataFrame, row: int) -> str:
    """Name of a row of ``host`` or ``device``; ``unknown`` where there is none."""
    return str(frame["name"].iat[row]) if row != NO_LAUNCH else "unknown"
