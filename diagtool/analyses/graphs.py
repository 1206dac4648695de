"""How much of the work is launched as GPU graphs? Launches, kernels in each, gaps inside and between, eager steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagtool.context import Context, DeviceWindow
from diagtool.diagnosis import Column, Evidence, Finding, Fix, Metric, Result, Table, finding, metric
from diagtool.engine_steps import StepWork
from diagtool.grouping import distinct, groups
from diagtool.launches import NO_LAUNCH, graph_calls
from diagtool.timeline import Timeline
from diagtool.units import fraction, seconds

_SERVER_FIXES = {
    "vllm": Fix("Capture graphs for the batch sizes that occur.", "vllm serve --max-cudagraph-capture-size SIZE"),
    "sglang": Fix(
        "Capture graphs for the batch sizes that occur.", "python -m sglang.launch_server --cuda-graph-max-bs SIZE"
    ),
}
_OWN_FIX = Fix("Capture graphs for the shapes that occur, or pad the batch to a captured one.")


@dataclass(frozen=True, slots=True, eq=False)
class _Device:
    """Graph launches of one device: the kernels of each recorded one, and idle ns inside and before graphs."""

    window: DeviceWindow
    kernels: NDArray[np.int64]
    without_nodes: int
    graph_ns: int
    kernel_ns: int
    inside_ns: int
    before_ns: int


def run(timeline: Timeline, context: Context) -> Result:
    """Metrics per device, a table where graphs were launched, and a finding for eager steps among graph steps."""
    devices = [_device(timeline, context, window) for window in context.windows]
    found = (_fallback(timeline, context, context.steps), _half_recorded(timeline, context, devices))
    return Result(
        "graphs",
        metrics=tuple(m for one in devices for m in _metrics(one)),
        findings=tuple(one for one in found if one),
        tables=tuple(table for table in (_table(devices),) if table.rows),
    )


def _device(timeline: Timeline, context: Context, window: DeviceWindow) -> _Device:
    device, rows = timeline.device, window.rows
    kernel = device["kind"].to_numpy()[rows] == "kernel"
    graph = context.graph_launched[rows]
    lengths = window.inside_ns(timeline, rows)
    launches = context.launches[rows]
    _, kernels = np.unique(launches[graph & kernel & (launches != NO_LAUNCH)], return_counts=True)
    inside, before = _gaps(timeline, context, window)
    return _Device(
        window,
        kernels.astype(np.int64),
        _without_nodes(timeline, context, window),
        int(lengths[graph & kernel].sum()),
        int(lengths[kernel].sum()),
        inside,
        before,
    )


def _without_nodes(timeline: Timeline, context: Context, window: DeviceWindow) -> int:
    """Graph launches of which no node was recorded on any device: those of the rank, on its first device.

    All that began before the window's end count, and none before its start where the steps are the window.
    """
    if window.device != min(other.device for other in context.windows if other.rank == window.rank):
        return 0
    host = timeline.host
    called = graph_calls(timeline) & (host["rank"].to_numpy() == window.rank)
    starts = host["start_ns"].to_numpy()
    called &= (starts < window.end_ns) & ((starts >= window.start_ns) | (not window.by_steps))
    recorded = distinct(context.launches[context.launches != NO_LAUNCH])
    return int(np.count_nonzero(~np.isin(np.flatnonzero(called), recorded)))


def _half_recorded(timeline: Timeline, context: Context, devices: Sequence[_Device]) -> Finding | None:
    """A doubt about graphs of which nodes are missing: launches without any, or of one graph with different numbers."""
    missing = max((one.without_nodes for one in devices), default=0)
    varying = _varying(timeline, context)
    if not missing and not varying:
        return None
    return finding(
        "trace-integrity",
        "Graph launches lack kernels: the profiler did not record all of them, and the device looks idle instead.",
        lost_s=0.0,
        lost_fraction=0.0,
        evidence=(
            Evidence("graph launches without a recorded kernel", missing, "count"),
            Evidence("graphs that launched different numbers of kernels", varying, "count"),
        ),
        fix=(Fix("Update the profiler's library, or profile the same step without graphs once."),),
        severity_at_least="info",
    )


def _varying(timeline: Timeline, context: Context) -> int:
    """How many graphs, by the id that the profiler states, had not the same number of kernels at each launch."""
    device = timeline.device
    graph, launches = device["graph"].to_numpy(), context.launches
    stated = (graph >= 0) & (launches != NO_LAUNCH) & (device["kind"].to_numpy() == "kernel")
    found, of_stated = 0, launches[stated]
    for _, rows in groups(device["rank"].to_numpy()[stated], graph[stated]):
        _, counts = np.unique(of_stated[rows], return_counts=True)
        found += len(distinct(counts.astype(np.int64))) > 1
    return found


def _gaps(timeline: Timeline, context: Context, window: DeviceWindow) -> tuple[int, int]:
    """Idle time inside graphs, and idle time that a graph's first node ends, in ns."""
    rows = window.rows
    if len(rows) < 2:
        return 0, 0
    starts, ends = timeline.device["start_ns"].to_numpy()[rows], timeline.device["end_ns"].to_numpy()[rows]
    reach = np.maximum.accumulate(ends)
    # The event that holds the end of the busy stretch before each gap.
    holder = np.maximum.accumulate(np.where(ends == reach, np.arange(len(rows)), 0))[:-1]
    gap = np.maximum(starts[1:] - reach[:-1], 0)
    graph, launches = context.graph_launched[rows], context.launches[rows]
    same = graph[1:] & graph[holder] & (launches[1:] == launches[holder]) & (launches[1:] != NO_LAUNCH)
    return int(gap[same].sum()), int(gap[graph[1:] & ~same].sum())


def _metrics(one: _Device) -> list[Metric]:
    labels = one.window.labels
    no_graph = "" if len(one.kernels) else "not-applicable: no graph launch with recorded kernels"
    return [
        metric("graph.launches", len(one.kernels) + one.without_nodes, labels),
        metric("graph.launches_unrecorded", one.without_nodes, labels),
        metric(
            "graph.kernel_time_fraction",
            fraction(one.graph_ns, one.kernel_ns),
            labels,
            reason="" if one.kernel_ns else "not-applicable: no kernel ran",
        ),
        metric(
            "graph.kernels_per_launch_p50",
            float(np.median(one.kernels)) if len(one.kernels) else None,
            labels,
            reason=no_graph,
        ),
    ]


def _table(devices: Sequence[_Device]) -> Table:
    rows = [
        (one.window.rank, one.window.device, len(one.kernels), one.without_nodes, int(one.kernels.min()),
         int(one.kernels.max()), fraction(one.graph_ns, one.kernel_ns), seconds(one.inside_ns), seconds(one.before_ns))
        for one in devices
        if len(one.kernels)
    ]  # fmt: skip
    columns = (
        Column("rank"), Column("device"), Column("launches", "count"), Column("unrecorded", "count"),
        Column("least kernels", "count"), Column("most kernels", "count"), Column("kernel time", "fraction"),
        Column("idle inside", "s"), Column("idle before", "s"),
    )  # fmt: skip
    return Table("graphs", "GPU graphs", columns, tuple(rows))


def _fallback(timeline: Timeline, context: Context, steps: Sequence[StepWork]) -> Finding | None:
    """Decode steps without graphs among steps with them, priced at what they take longer than those of their size."""
    decode = [one for one in steps if one.tokens.phase == "decode" and one.kernels]
    graph = [one for one in decode if one.graph_calls]
    eager = [one for one in decode if not one.graph_calls and not one.graph_share]
    if not graph or not eager:
        return None
    lost: dict[tuple[int, int], float] = {}
    for one in eager:
        alike = [other for other in graph if other.place == one.place]
        if alike:
            lost[one.place] = lost.get(one.place, 0.0) + max(one.duration_ns - _usual_ns(one, alike), 0.0)
    windows = {
        (window.rank, window.device): window for window in context.windows if (window.rank, window.device) in lost
    }
    if not windows:
        return None
    worst = max(windows, key=lambda place: lost[place] / max(windows[place].judged_ns, 1))
    judged = windows[worst].judged_ns
    return finding(
        "graph-fallback",
        "Some decode steps run without the graph that the others use, and take longer.",
        lost_s=seconds(lost[worst]),
        lost_fraction=min(lost[worst] / judged, 1.0) if judged else 0.0,
        evidence=(
            Evidence("decode steps without a graph", len(eager), "count"),
            Evidence("decode steps with one", len(graph), "count"),
            Evidence("median step without", seconds(float(np.median([one.duration_ns for one in eager]))), "s"),
            Evidence("median step with", seconds(float(np.median([one.duration_ns for one in graph]))), "s"),
            Evidence("largest batch with a graph", max(_batch(one) for one in graph), "count"),
            Evidence("largest batch without", max(_batch(one) for one in eager), "count"),
        ),
        fix=(_SERVER_FIXES.get(str(timeline.environment.get("server")), _OWN_FIX),),
        confidence="medium",
        where=windows[worst].place,
    )


def _usual_ns(eager: StepWork, graph: Sequence[StepWork]) -> float:
    """What a step of this size takes with a graph: the median of the next larger batch, else of the largest."""
    at_least = [_batch(one) for one in graph if _batch(one) >= _batch(eager)]
    batch = min(at_least) if at_least else max(_batch(one) for one in graph)
    return float(np.median([one.duration_ns for one in graph if _batch(one) == batch]))


def _batch(step: StepWork) -> int:
    return step.tokens.total or 0
