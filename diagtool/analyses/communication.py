"""What did communication cost? Collectives by kind, what hides behind compute, and which rank the others wait for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagtool import intervals
from diagtool.collectives import NO_GROUP, Matched, match, operations, waits
from diagtool.context import Context, DeviceWindow
from diagtool.diagnosis import Column, Evidence, Finding, Fix, Metric, Result, Scalar, Table, finding, metric
from diagtool.intervals import Intervals
from diagtool.kernel_classes import collective_family
from diagtool.timeline import Timeline
from diagtool.units import fraction, plural, seconds

_ALL_RANKS = Fix("When one rank arrives late the others wait inside the collective: diagnose all ranks together.")
_OVERLAP = Fix("Overlap collectives with independent compute: a second stream, bucketed or chunked reduction.")
_SAME_STREAM = Fix(
    "The collectives run on the stream of the kernels, which then cannot hide them: fuse them with the kernels around "
    "them, or issue them on a stream of their own."
)
_EQUAL_WORK = Fix("Give the ranks equal work: shard sizes, sequence lengths, experts.")
_SCHEDULE = Fix("In a pipeline a stage waits for the one before it by its place: then look at the schedule.")
_MOST_ROWS = 100
_MOSTLY = 0.5

_Place = tuple[int, int]
# Time each (rank, device) waited for each other one.
_Waiting = Mapping[_Place, Mapping[_Place, Intervals]]


@dataclass(frozen=True, slots=True)
class _Device:
    """Nanoseconds of communication in one device's window: all, exposed, waiting, and exposed waiting by whom for."""

    window: DeviceWindow
    total_ns: int
    exposed: Intervals
    kernel_ns: int
    all_kernels_ns: int
    waiting_ns: int
    exposed_waiting_ns: int
    exposed_waiting: Mapping[_Place, int]
    same_stream_ns: int


def run(timeline: Timeline, context: Context) -> Result:
    """Metrics per device, tables of collectives and of ranks, and findings for exposed ones and for a late rank."""
    matched = match(timeline, context)
    waiting = _waiting(timeline, matched)
    devices = [_device(timeline, context, window, waiting) for window in context.windows]
    return Result(
        "communication",
        metrics=tuple(m for one in devices for m in _metrics(one, matched)),
        findings=tuple(
            f
            for f in (
                _exposed(devices, matched, len(devices) == 1 and context.scope.rank is None),
                _straggler(devices, matched),
            )
            if f
        ),
        tables=tuple(t for t in (_collectives(timeline, context), _ranks(matched)) if t.rows),
    )


def _waiting(timeline: Timeline, matched: Matched) -> _Waiting:
    found: dict[_Place, dict[_Place, list[tuple[int, int]]]] = {}
    for wait in waits(matched, timeline):
        found.setdefault(wait.place, {}).setdefault(wait.late, []).append((wait.start_ns, wait.end_ns))
    return {
        place: {late: intervals.union(*zip(*spans, strict=True)) for late, spans in by_late.items()}
        for place, by_late in found.items()
    }


def _device(timeline: Timeline, context: Context, window: DeviceWindow, waiting: _Waiting) -> _Device:
    device, work = timeline.device, context.work[window.rows]
    lengths = window.inside_ns(timeline, window.rows)
    collective, kernel = work == "communication", np.isin(work, ("communication", "compute"))
    spans = context.spans(timeline, window, "communication")
    exposed = intervals.subtract(spans, context.spans(timeline, window, "compute"))
    waited = waiting.get((window.rank, window.device), {})
    waiting_for_any = intervals.join(*waited.values()) if waited else intervals.EMPTY
    stream = device["stream"].to_numpy()[window.rows]
    shared = np.intersect1d(stream[collective], stream[work == "compute"])
    rows = window.rows[collective & np.isin(stream, shared[shared >= 0])]
    on_shared = intervals.union(device["start_ns"].to_numpy()[rows], device["end_ns"].to_numpy()[rows])
    return _Device(
        window,
        spans.total_ns,
        exposed,
        int(lengths[collective].sum()),
        int(lengths[kernel].sum()),
        intervals.intersect(spans, waiting_for_any).total_ns,
        intervals.intersect(exposed, waiting_for_any).total_ns,
        {late: intervals.intersect(exposed, one).total_ns for late, one in waited.items()},
        intervals.intersect(exposed, on_shared).total_ns,
    )


def _metrics(one: _Device, matched: Matched) -> list[Metric]:
    labels, whole = one.window.labels, one.window.length_ns
    none = "" if one.total_ns else "not-applicable: no collective ran"
    unmatched = "; ".join(f"{group}: {reason}" for group, reason in matched.unmatched.items())
    alone = f"missing: {unmatched}" if unmatched else "missing: one rank alone, and waiting shows only across ranks"
    known = any((one.window.rank, one.window.device) in series.places for series in matched.series)
    return [
        metric(
            "communication.exposed_fraction",
            fraction(one.exposed.total_ns, whole),
            labels,
            reason="" if whole else "undefined: the window has no length",
        ),
        metric(
            "communication.overlap_fraction",
            fraction(one.total_ns - one.exposed.total_ns, one.total_ns),
            labels,
            reason=none,
        ),
        metric(
            "communication.kernel_time_fraction",
            fraction(one.kernel_ns, one.all_kernels_ns),
            labels,
            reason="" if one.all_kernels_ns else "not-applicable: no kernel ran",
        ),
        metric(
            "communication.waiting_fraction",
            fraction(one.waiting_ns, one.total_ns) if known else None,
            labels,
            reason=none or ("" if known else alone),
        ),
    ]


def _exposed(devices: Sequence[_Device], matched: Matched, alone: bool) -> Finding | None:
    """Exposed collectives without the waits for a late rank, which are the straggler's.

    ``alone``: the trace is of one rank, and no other was left out by choice.
    """
    worst = max(devices, key=lambda one: _share(one, one.exposed.total_ns - one.exposed_waiting_ns))
    lost = worst.exposed.total_ns - worst.exposed_waiting_ns
    exposed = sum(one.exposed.total_ns for one in devices)
    windows = sum(one.window.length_ns for one in devices)
    whole = "the window" if len(devices) == 1 else "all windows"
    evidence = [Evidence("collectives alone on the device", fraction(exposed, windows), "fraction", whole)]
    if matched.series:
        waiting = sum(one.exposed_waiting_ns for one in devices)
        evidence.append(Evidence("waiting for a late rank", fraction(waiting, exposed), "fraction", "that time"))
    evidence += [Evidence("waiting not known", reason) for reason in dict.fromkeys(matched.unmatched.values())]
    same = sum(one.same_stream_ns for one in devices)
    if same:
        evidence.append(Evidence("on a stream that compute uses", fraction(same, exposed), "fraction", "that time"))
    kernels = sum(one.all_kernels_ns for one in devices)
    evidence.append(Evidence("collectives", fraction(sum(one.kernel_ns for one in devices), kernels), "fraction",
                             "kernel time"))  # fmt: skip
    return finding(
        "exposed-communication",
        "Collectives run while nothing else does: they are not hidden behind compute.",
        lost_s=seconds(lost),
        lost_fraction=_share(worst, lost),
        evidence=evidence,
        fix=(
            _SAME_STREAM if 2 * same > exposed else _OVERLAP,
            *([_ALL_RANKS] if alone else []),
        ),
        where=worst.window.place,
    )


def _straggler(devices: Sequence[_Device], matched: Matched) -> Finding | None:
    """The rank whose lateness costs another one most: priced on the one that waits for it with nothing else to do."""
    caused = _caused(matched)
    if not caused:
        return None
    cost = {late: max(_share(one, one.exposed_waiting.get(late, 0)) for one in devices) for late in caused}
    late = max(caused, key=lambda place: (cost[place], caused[place][0]))
    worst = max(devices, key=lambda one: _share(one, one.exposed_waiting.get(late, 0)))
    name, part = _name(late, matched), caused[late][0] / matched.waiting_ns
    lost = worst.exposed_waiting.get(late, 0)
    return finding(
        "straggler",
        f"The others wait inside collectives, mostly for {name}."
        if part > _MOSTLY
        else f"Each waits for the others inside collectives in turn, longest for {name}.",
        lost_s=seconds(lost),
        lost_fraction=_share(worst, lost),
        evidence=(
            Evidence("waiting for the last rank", fraction(matched.waiting_ns, matched.total_ns), "fraction",
                     "collective time"),
            Evidence(f"waiting for {name}", part, "fraction", "all waiting"),
            Evidence(f"waited for {name}", seconds(caused[late][0]), "s", "all ranks together"),
            Evidence(f"collectives at which {name} is last", caused[late][1], "count"),
            Evidence("last at the first collective", _first_late(matched)),
            Evidence("waits longest for it", _name((worst.window.rank, worst.window.device), matched)),
        ),
        fix=(
            Fix(f"Look at what {name} does before its collectives: its host, its share of the work, its device.",
                f"diagtool profile TRACES --rank {late[0]}"),
            _SCHEDULE if _may_be_pipeline(matched) else _EQUAL_WORK,
        ),
        confidence=_confidence(matched, part),
        where={"rank": late[0], "device": late[1]},
    )  # fmt: skip


def _confidence(matched: Matched, part: float) -> str:
    """How sure it is that one rank is late.

    Without stated groups the ranks may be of several, and what only passes from one to the next is no meeting of all.
    Ranks that take turns have no straggler, and the first wait may be the start of the recording.
    """
    if _may_be_pipeline(matched):
        return "low"
    unnamed = all(one.group == NO_GROUP for one in matched.series)
    first = max(int(one.waiting_ns[0].sum()) for one in matched.series)
    doubtful = unnamed or part <= _MOSTLY or 2 * first > matched.waiting_ns
    return "medium" if doubtful else "high"


def _may_be_pipeline(matched: Matched) -> bool:
    """Whether all that was matched may be one rank handing work to the next, which waits for it by its place."""
    if any(one.group != NO_GROUP for one in matched.series):
        return False
    return {kind for one in matched.series for kind in one.operations} <= {"send/recv", "unknown"}


def _first_late(matched: Matched) -> str:
    """Who was last at the first collective at which somebody waited."""
    for one in matched.series:
        waited = np.flatnonzero(one.waiting_ns.any(axis=1))
        if len(waited):
            return _name(one.places[int(one.last[waited[0]])], matched)
    return ""


def _name(place: tuple[int, int], matched: Matched) -> str:
    """``rank 3``, with the device where a rank has several."""
    devices = {other for one in matched.series for other in one.places if other[0] == place[0]}
    return f"rank {place[0]}" if len(devices) <= 1 else f"rank {place[0]}, device {place[1]}"


def _caused(matched: Matched) -> dict[tuple[int, int], tuple[int, int]]:
    """For each rank the time that others waited for it, and at how many collectives they did."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for one in matched.series:
        per_collective = one.waiting_ns.sum(axis=1)
        for column, ns in zip(one.last.tolist(), per_collective.tolist(), strict=True):
            if ns:
                before = found.get(one.places[column], (0, 0))
                found[one.places[column]] = (before[0] + ns, before[1] + 1)
    return found


def _collectives(timeline: Timeline, context: Context) -> Table:
    """Collectives of all devices by maker and operation."""
    rows = np.concatenate([one.rows for one in context.windows]) if context.windows else np.empty(0, np.int64)
    of_collectives = context.work[rows] == "communication"
    rows = rows[of_collectives]
    device = timeline.device
    families = np.array([collective_family(str(n)) or "unknown" for n in device["name"].cat.categories] or [""], object)
    family = families[device["name"].cat.codes.to_numpy()[rows]]
    operation = operations(timeline)[rows]
    inside = [one.inside_ns(timeline, one.rows) for one in context.windows]
    lengths = np.concatenate(inside)[of_collectives] if inside else np.empty(0, np.int64)
    sizes = device["bytes"].to_numpy(dtype=np.float64, na_value=np.nan)[rows]
    found: list[tuple[Scalar, ...]] = []
    for key in sorted(set(zip(family.tolist(), operation.tolist(), strict=True))):
        here = (family == key[0]) & (operation == key[1])
        ns = lengths[here]
        times = (seconds(int(ns.sum())), seconds(float(np.median(ns))))
        found.append((*key, len(ns), *times, *_sizes(sizes[here], ns)))
    found.sort(key=lambda row: -float(row[3] or 0))
    columns = (
        Column("made by"), Column("operation"), Column("calls", "count"), Column("time", "s"), Column("median", "s"),
        Column("bytes", "bytes"), Column("algorithm rate", "bytes/s"),
    )  # fmt: skip
    return Table("collectives", "Collectives", columns, tuple(found[:_MOST_ROWS]))


def _sizes(sizes: NDArray[np.float64], lengths: NDArray[np.int64]) -> tuple[float | None, float | None]:
    """All bytes of the messages and bytes / duration, where every message states its size."""
    if not np.isfinite(sizes).all():
        return None, None
    total = float(sizes.sum())
    return total, total / seconds(int(lengths.sum())) if lengths.sum() else None


def _ranks(matched: Matched) -> Table:
    """What each rank did in the matched collectives."""
    caused = _caused(matched)
    spent: dict[tuple[int, int], list[int]] = {}
    for one in matched.series:
        for column, place in enumerate(one.places):
            mine = spent.setdefault(place, [0, 0])
            mine[0] += int(one.durations_ns[:, column].sum())
            mine[1] += int(one.waiting_ns[:, column].sum())
    rows = [
        (*place, seconds(total), seconds(waiting), fraction(waiting, total), caused.get(place, (0, 0))[1],
         seconds(caused.get(place, (0, 0))[0]))
        for place, (total, waiting) in sorted(spent.items())
    ]  # fmt: skip
    columns = (
        Column("rank"), Column("device"), Column("in collectives", "s"), Column("waiting", "s"),
        Column("share", "fraction"), Column("last at", "count"), Column("others waited", "s"),
    )  # fmt: skip
    unmatched = plural(len(matched.unmatched), "group")
    note = f" ({unmatched} could not be matched)" if matched.unmatched else ""
    return Table("collective_ranks", f"Who waits for whom in matched collectives{note}", columns, tuple(rows))


def _share(one: _Device, ns: int) -> float:
    return fraction(ns, one.window.judged_ns) or 0.0
