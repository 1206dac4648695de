"""How much of the device do the kernels fill? SM utilization and occupancy, both from the launches.

SM utilization is an estimate: at each instant the running kernels hold min(1, sum of blocks / SMs) of the SMs, and
that is averaged over the window. Counters would measure it. Occupancy is the share of an SM's warps that can be
resident at once.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from diagtool.context import Context, DeviceWindow
from diagtool.device_work import kernel_classes
from diagtool.diagnosis import Device, Evidence, Finding, Fix, Metric, Result, finding, metric
from diagtool.grouping import distinct, groups
from diagtool.intervals import Ns
from diagtool.launch_shapes import Floats, LaunchShapes
from diagtool.launches import NO_LAUNCH
from diagtool.timeline import Timeline
from diagtool.units import percent_text, seconds

# Kernels without a grid may be this share of the kernel time before the estimate is withheld.
_MOST_WITHOUT_GRID = 0.05
# A kernel this short ends before more blocks could help it.
_LATENCY_NS = 10_000
# An SM with at most this share of its warps cannot hide latency by them; with the other share it can.
_LOW, _ENOUGH = 0.25, 0.5
_LONG_BLOCKS = ("attention", "GEMM", "MoE", "convolution")
_LOW_ON_PURPOSE = (*_LONG_BLOCKS, "recurrent", "collective")
# From here on the last wave is a small part of all.
_MOST_WAVES = 8
_NAMED = 3


class Activity(NamedTuple):
    """Steps of a curve: ``value`` holds from ``starts`` to ``ends``, in time order."""

    starts: Ns
    ends: Ns
    value: Floats


def run(timeline: Timeline, context: Context) -> Result:
    """Metrics per device, and a finding where long kernels leave most SMs without a block."""
    launched = context.shapes
    return Result(
        "sm_utilization",
        metrics=tuple(m for one in context.windows for m in _metrics(timeline, context, launched, one)),
        findings=tuple(f for f in (judge(timeline, context, launched) for judge in (_small_grid, _low_occupancy)) if f),
    )


def sm_activity(timeline: Timeline, window: DeviceWindow, per_sm: Floats) -> Activity:
    """Share of the SMs that hold a block over time: min(1, sum of blocks / SMs over the running kernels).

    ``per_sm`` is blocks / SMs of each row of ``device``; rows where it is NaN are left out. Where nothing runs there
    is no step.
    """
    rows = window.rows[np.isfinite(per_sm[window.rows]) & (per_sm[window.rows] > 0)]
    starts = np.maximum(timeline.device["start_ns"].to_numpy()[rows], window.start_ns)
    ends = np.minimum(timeline.device["end_ns"].to_numpy()[rows], window.end_ns)
    edges = distinct(starts, ends)
    change = np.zeros(len(edges))
    np.add.at(change, np.searchsorted(edges, starts), per_sm[rows])
    np.add.at(change, np.searchsorted(edges, ends), -per_sm[rows])
    running = np.zeros(len(edges), np.int64)
    np.add.at(running, np.searchsorted(edges, starts), 1)
    np.add.at(running, np.searchsorted(edges, ends), -1)
    # Where nothing runs the sum is 0, whatever rounding has left of it.
    busy = np.cumsum(running)[:-1] > 0
    value = np.minimum(np.cumsum(change)[:-1], 1.0)
    return Activity(edges[:-1][busy], edges[1:][busy], value[busy])


def _metrics(timeline: Timeline, context: Context, launched: LaunchShapes, window: DeviceWindow) -> list[Metric]:
    kernels = window.rows[timeline.device["kind"].to_numpy()[window.rows] == "kernel"]
    lengths = window.inside_ns(timeline, kernels)
    total = int(lengths.sum())
    reason = _no_estimate(launched, kernels, lengths, window)
    utilization = None
    if not reason:
        activity = sm_activity(timeline, window, launched.per_sm)
        utilization = float(((activity.ends - activity.starts) * activity.value).sum() / window.length_ns)
    known = context.launches[kernels] != NO_LAUNCH
    known &= np.isfinite(launched.occupancy[kernels]) & np.isfinite(launched.grid_limited[kernels])
    weight = lengths[known]
    missing = "" if weight.sum() else _no_occupancy(context.device_of(timeline, window), total)
    labels = window.labels
    return [
        metric("sm.utilization_fraction", utilization, labels, method="estimated", reason=reason),
        *(
            metric(name, _mean(values[kernels][known], weight), labels, method="modelled", reason=missing)
            for name, values in (
                ("occupancy.theoretical_fraction", launched.occupancy),
                ("occupancy.grid_limited_fraction", launched.grid_limited),
            )
        ),
    ]


def _mean(values: Floats, weight: NDArray[np.int64]) -> float | None:
    return float(np.average(values, weights=weight)) if weight.sum() else None


def _no_estimate(launched: LaunchShapes, kernels: Ns, lengths: Ns, window: DeviceWindow) -> str:
    if not window.length_ns:
        return "undefined: the window has no length"
    total = int(lengths.sum())
    if not total:
        return "not-applicable: no kernel ran"
    if int(lengths[~np.isfinite(launched.blocks[kernels])].sum()) > _MOST_WITHOUT_GRID * total:
        return "missing: the launches do not state their grid"
    if not np.isfinite(launched.per_sm[kernels]).any():
        return "missing: the trace does not say how many SMs the device has"
    return ""


def _no_occupancy(device: Device, kernel_ns: int) -> str:
    if not kernel_ns:
        return "not-applicable: no kernel ran"
    if device.warp_size == 64:
        return "unsupported: the rules known here are NVIDIA's"
    if device.compute_capability is None:
        return "missing: the trace does not state the compute capability"
    return "missing: no kernel of the window has both its launch and its registers and shared memory in the trace"


def _small_grid(timeline: Timeline, context: Context, launched: LaunchShapes) -> Finding | None:
    """Kernels whose blocks leave SMs without work, too long for that to be their latency.

    Fewer blocks than SMs leave the others empty. Blocks that come in a few waves leave part of the last one empty,
    which counts for products and attention, whose blocks are long and alike. The loss is what spreading the work
    evenly would save.
    """
    empty = np.where(launched.per_sm < 1, 1 - launched.per_sm, 0.0)
    products = (
        np.isin(kernel_classes(timeline.device), _LONG_BLOCKS) & (launched.waves > 1) & (launched.waves < _MOST_WAVES)
    )
    empty = np.where(products, 1 - launched.waves / np.ceil(launched.waves), empty)
    return _of_kernels(
        timeline,
        context,
        _candidates(timeline, context) & (empty > 0),
        empty,
        "small-grid",
        "Long kernels run with too few blocks, or with a last wave of few, and leave SMs without work.",
        "kernels whose blocks do not fill the device",
        lambda row: (
            f"{int(launched.blocks[row])} blocks" if launched.per_sm[row] < 1 else f"{launched.waves[row]:.2f} waves"
        ),
        (
            Fix("Split the work finer: split-K or stream-K for a matrix product, split-KV for decode attention."),
            Fix("Run independent small kernels side by side on several streams, or batch them."),
        ),
    )


def _low_occupancy(timeline: Timeline, context: Context, launched: LaunchShapes) -> Finding | None:
    """Kernels that fill the device and hide latency by warps, but whose SMs hold too few.

    Products and attention are left out: they run at low occupancy on purpose. The loss takes speed to grow with the
    warps up to half of what an SM holds.
    """
    by_warps = ~np.isin(kernel_classes(timeline.device), _LOW_ON_PURPOSE)
    rows = _candidates(timeline, context) & by_warps & (launched.occupancy <= _LOW) & (launched.waves >= 1)
    return _of_kernels(
        timeline,
        context,
        rows,
        1 - launched.occupancy / _ENOUGH,
        "low-occupancy",
        "Long kernels leave too few warps on each SM to hide the latency of memory.",
        f"kernels at {percent_text(_LOW)} occupancy or less",
        lambda row: f"{percent_text(launched.occupancy[row])}, by {launched.limiters[launched.limiter[row]]}",
        (Fix("Give each block less of what limits it: fewer registers per thread, less shared memory."),),
    )


def _candidates(timeline: Timeline, context: Context) -> NDArray[np.bool_]:
    """Rows of kernels long enough for their shape to matter and with the device to themselves.

    A collective takes few SMs on purpose, and beside another kernel its neighbour may fill the rest.
    """
    starts, ends = timeline.device["start_ns"].to_numpy(), timeline.device["end_ns"].to_numpy()
    found = np.zeros(len(starts), np.bool_)
    for window in context.windows:
        found[window.rows] = _alone(starts[window.rows], ends[window.rows])
    found &= (context.work == "compute") & (ends - starts > _LATENCY_NS)
    return found


def _of_kernels(
    timeline: Timeline,
    context: Context,
    chosen: NDArray[np.bool_],
    lost_share: Floats,
    cause: str,
    title: str,
    what: str,
    detail: Callable[[int], str],
    fix: tuple[Fix, ...],
) -> Finding | None:
    """A finding about some kernels, of whose time a share is lost, priced on the device that loses most."""
    parts = []
    for window in context.windows:
        rows = window.rows[chosen[window.rows]]
        lengths = window.inside_ns(timeline, rows)
        parts.append((float((lengths * lost_share[rows]).sum()), window, rows, lengths))
    lost, worst, rows, lengths = max(parts, key=lambda part: part[0] / max(part[1].judged_ns, 1))
    names = timeline.device["name"].cat.codes.to_numpy()[rows].astype(np.int64)
    by_loss = sorted((here for _, here in groups(names)), key=lambda here: -(lengths * lost_share[rows])[here].sum())
    evidence = [Evidence(what, len(rows), "count")]
    for here in by_loss[:_NAMED]:
        longest = int(rows[here][np.argmax(lengths[here])])
        name = str(timeline.device["name"].iat[longest])
        evidence.append(Evidence(name, seconds(int(lengths[here].sum())), "s", detail(longest)))
    return finding(
        cause,
        title,
        lost_s=seconds(lost),
        lost_fraction=min(lost / worst.judged_ns, 1.0) if worst.judged_ns else 0.0,
        evidence=evidence,
        fix=fix,
        confidence="low",
        where=worst.place,
    )


def _alone(starts: Ns, ends: Ns) -> NDArray[np.bool_]:
    """Which events, sorted by start, overlap no other."""
    reach = np.maximum.accumulate(ends)
    free_before = np.concatenate(([True], starts[1:] >= reach[:-1]))
    free_after = np.concatenate((ends[:-1] <= starts[1:], [True]))
    return free_before & free_after
