"""How fast is work issued, and how long does it wait? Gaps, intervals and delays of launches."""

import numpy as np
from numpy.typing import NDArray

from diagtool.context import Context, DeviceWindow
from diagtool.diagnosis import Metric, Result, metric
from diagtool.launches import NO_LAUNCH
from diagtool.timeline import Timeline
from diagtool.units import seconds


def run(timeline: Timeline, context: Context) -> Result:
    """Metrics per device."""
    return Result(
        "launch_gaps",
        metrics=tuple(m for window in context.windows for m in _metrics(timeline, context, window)),
    )


def _metrics(timeline: Timeline, context: Context, window: DeviceWindow) -> list[Metric]:
    gaps, overlaps = stream_gaps(timeline, window)
    intervals, delays = _launch_times(timeline, context, window)
    streams = not len(window.rows) or (timeline.device["stream"].to_numpy()[window.rows] >= 0).any()
    no_stream = "" if streams else "missing: device events state no stream"
    no_gap = "" if len(gaps) else no_stream or "too-few-samples: no stream has two kernels"
    no_launch = "" if len(delays) else "missing: no device event of the window has its launch in the trace"
    no_interval = "" if len(intervals) else no_launch or "too-few-samples: no thread has two launch calls"
    labels = window.labels
    return [
        metric("launch.gap_p50_s", _percentile(gaps, 50), labels, reason=no_gap),
        metric("launch.gap_p95_s", _percentile(gaps, 95), labels, reason=no_gap),
        metric("launch.gap_max_s", _percentile(gaps, 100), labels, reason=no_gap),
        metric("launch.overlaps", overlaps if streams else None, labels, reason=no_stream),
        metric("launch.interval_p50_s", _percentile(intervals, 50), labels, reason=no_interval),
        metric("launch.delay_p50_s", _percentile(delays, 50), labels, reason=no_launch),
    ]  # fmt: skip


def stream_gaps(timeline: Timeline, window: DeviceWindow) -> tuple[NDArray[np.int64], int]:
    """Gaps in ns between successive kernels of each stream, clipped at 0, and how many overlap instead.

    The end before a gap is the latest of all kernels that began earlier, so a short kernel inside a long one opens no
    gap. Kernels without a stream are left out.
    """
    device = timeline.device
    rows = window.rows[(device["kind"].to_numpy()[window.rows] == "kernel")]
    rows = rows[device["stream"].to_numpy()[rows] >= 0]
    stream = device["stream"].to_numpy()[rows]
    starts, ends = device["start_ns"].to_numpy()[rows], device["end_ns"].to_numpy()[rows]
    gaps, overlaps = [np.empty(0, np.int64)], 0
    for one in np.unique(stream):
        here = stream == one
        reach = np.maximum.accumulate(ends[here])
        between = starts[here][1:] - reach[:-1]
        overlaps += int((between < 0).sum())
        gaps.append(np.maximum(between, 0))
    return np.concatenate(gaps), overlaps


def _launch_times(
    timeline: Timeline, context: Context, window: DeviceWindow
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start to start of the launch calls of each thread; return of each call to its first device event."""
    host = timeline.host
    launched = context.launches[window.rows]
    rows, launched = window.rows[launched != NO_LAUNCH], launched[launched != NO_LAUNCH]
    # Rows of device are in time order, so the first row of a call is its earliest work.
    calls, first = np.unique(launched, return_index=True)
    starts, ends = host["start_ns"].to_numpy()[calls], host["end_ns"].to_numpy()[calls]
    delays = np.maximum(timeline.device["start_ns"].to_numpy()[rows[first]] - ends, 0)
    process, thread = host["process"].to_numpy()[calls], host["thread"].to_numpy()[calls]
    order = np.lexsort((starts, thread, process))
    same = (np.diff(process[order]) == 0) & (np.diff(thread[order]) == 0)
    return np.diff(starts[order])[same], delays


def _percentile(values_ns: NDArray[np.int64], percent: float) -> float | None:
    return seconds(float(np.percentile(values_ns, percent))) if len(values_ns) else None
