"""What every analysis needs to know beside the timeline: windows, launches, collectives, suspects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from diagtool import device_work, intervals, launches
from diagtool.diagnosis import Device, Scalar
from diagtool.engine_steps import StepWork, work_of_steps
from diagtool.hardware.peaks import Peaks, peaks
from diagtool.intervals import Intervals
from diagtool.launch_shapes import LaunchShapes, shapes
from diagtool.scope import WHOLE, Scope, choose
from diagtool.screening import Suspect, by_device, screen
from diagtool.timeline import Timeline


@dataclass(frozen=True, slots=True)
class DeviceWindow:
    """One device of one rank, the span its shares refer to and the rows of ``device`` that lie in it.

    ``outside`` is step time in which no device of the rank has its window. It is judged (``judged_outside``, on one
    device of the rank) where the recording is known to have covered it: elsewhere the device may have been at work
    unseen, as in a trace cut out of a longer one. ``step_thread`` is the (process, thread) that marked the steps.
    ``by_steps``: the window is that of the step marks; ``next_row`` is then the device's first row after it, or -1.
    """

    rank: int
    device: int
    start_ns: int
    end_ns: int
    rows: NDArray[np.int64]
    outside: Intervals
    judged_outside: Intervals
    step_thread: tuple[int, int] | None
    by_steps: bool
    next_row: int

    @property
    def length_ns(self) -> int:
        """Length of the window."""
        return self.end_ns - self.start_ns

    @property
    def judged_ns(self) -> int:
        """Window plus the judged step time outside it: what losses are a share of."""
        return self.length_ns + self.judged_outside.total_ns

    def inside_ns(self, timeline: Timeline, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """How much of each of some rows of ``device`` lies in the window."""
        starts, ends = timeline.device["start_ns"].to_numpy()[rows], timeline.device["end_ns"].to_numpy()[rows]
        inside: NDArray[np.int64] = np.maximum(np.minimum(ends, self.end_ns) - np.maximum(starts, self.start_ns), 0)
        return inside

    @property
    def place(self) -> dict[str, Scalar]:
        """Where a finding about this device is."""
        return {"rank": self.rank, "device": self.device}

    @property
    def labels(self) -> dict[str, str]:
        """Labels of this device's metrics."""
        return {"device": str(self.device), "rank": str(self.rank)}


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Facts computed once and shared by the analyses; they stand in rows of the screened timeline's tables.

    ``launches``: for each device row the host row that launched it, or launches.NO_LAUNCH. ``graph_launched``: whether
    that was a graph launch. ``work``: class of each device row: compute, communication, or a kind of copy. ``shapes``:
    occupancy of each kernel. ``steps``: those of every device, with the work each launched.
    """

    windows: tuple[DeviceWindow, ...]
    launches: NDArray[np.int64]
    graph_launched: NDArray[np.bool_]
    work: NDArray[Any]
    suspects: tuple[Suspect, ...]
    shapes: LaunchShapes
    steps: tuple[StepWork, ...]
    scope: Scope

    def peaks_of(self, device: Device) -> Peaks | None:
        """What the device can do at most: as far as given, else by its datasheet; None for an unknown device."""
        known, given = peaks(device.name, device.sms), self.scope.peaks
        return known.overridden_by(given) if known and given else given or known

    def device_of(self, timeline: Timeline, window: DeviceWindow) -> Device:
        """What is known of the device of a window."""
        found = (one for one in timeline.devices if (one.rank, one.index) == (window.rank, window.device))
        return next(found, Device(window.rank, window.device))

    def spans(self, timeline: Timeline, window: DeviceWindow, *works: str) -> Intervals:
        """Union of a device's events of some classes (of all when none is named), clipped to its window."""
        rows = window.rows
        if works:
            rows = rows[np.isin(self.work[rows], works)]
        starts = timeline.device["start_ns"].to_numpy()[rows]
        ends = timeline.device["end_ns"].to_numpy()[rows]
        return intervals.clip(intervals.union(starts, ends), window.start_ns, window.end_ns)


def prepare(timeline: Timeline, scope: Scope = WHOLE) -> tuple[Timeline, Context]:
    """The timeline without impossible events and outside ranks and devices, and the context that goes with it."""
    clean, suspects = screen(choose(timeline, scope))
    matched = launches.match(clean)
    devices = list(by_device(clean))
    ranks = {rank: _rank_spans(clean, devices, rank) for rank in {rank for rank, _, _ in devices}}
    graph_launched = launches.is_graph_launch(clean, matched)
    places = [(rank, device) for rank, device, _ in devices]
    context = Context(
        windows=tuple(_window(clean, rank, device, rows, ranks[rank], scope) for rank, device, rows in devices),
        scope=scope,
        launches=matched,
        graph_launched=graph_launched,
        work=device_work.classify(clean.device),
        suspects=suspects,
        shapes=shapes(clean),
        steps=work_of_steps(clean, matched, graph_launched, places),
    )
    return clean, context


class _RankSpans(NamedTuple):
    """First start to last end of each device of a rank, joined, and the device with the longest."""

    covered: Intervals
    main_device: int


def _rank_spans(timeline: Timeline, devices: Sequence[tuple[int, int, NDArray[np.int64]]], rank: int) -> _RankSpans:
    starts, ends = timeline.device["start_ns"].to_numpy(), timeline.device["end_ns"].to_numpy()
    spans = [(int(starts[rows].min()), int(ends[rows].max()), device) for one, device, rows in devices if one == rank]
    first, last, _ = zip(*spans, strict=True)
    return _RankSpans(intervals.union(first, last), max(spans, key=lambda span: span[1] - span[0])[2])


def _window(
    timeline: Timeline, rank: int, device: int, rows: NDArray[np.int64], spans: _RankSpans, scope: Scope
) -> DeviceWindow:
    starts = timeline.device["start_ns"].to_numpy()[rows]
    ends = timeline.device["end_ns"].to_numpy()[rows]
    start, end = int(starts.min()), int(ends.max())
    steps = timeline.steps.loc[timeline.steps["rank"] == rank]
    marked = intervals.union(steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy())
    if not len(marked.starts):
        return DeviceWindow(rank, device, start, end, rows, intervals.EMPTY, intervals.EMPTY, None, False, -1)
    first = steps.iloc[0]
    thread = (int(first["process"]), int(first["thread"]))
    if scope.by_steps:
        start, end = int(marked.starts[0]), int(marked.ends[-1])
        later = np.flatnonzero(starts >= end)
        inside = rows[(starts < end) & (ends > start)]
        next_row = int(rows[later[0]]) if len(later) else -1
        return DeviceWindow(rank, device, start, end, inside, intervals.EMPTY, intervals.EMPTY, thread, True, next_row)
    outside = intervals.subtract(marked, spans.covered)
    # Once a rank: on the device with the longest window, whose share of the whole it is.
    recorded = timeline.recording_ns.get(rank) if device == spans.main_device else None
    judged = intervals.clip(outside, *recorded) if recorded else intervals.EMPTY
    return DeviceWindow(rank, device, start, end, rows, outside, judged, thread, False, -1)
