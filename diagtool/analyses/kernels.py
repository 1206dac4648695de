"""Which kernels took the time? By name and by class, with the occupancy of each and the share that has no class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagtool import intervals
from diagtool.context import Context, DeviceWindow
from diagtool.diagnosis import (
    MOST_KERNELS,
    Column,
    Device,
    Evidence,
    Finding,
    Fix,
    Metric,
    Result,
    Scalar,
    Table,
    finding,
    metric,
)
from diagtool.grouping import groups
from diagtool.kernel_classes import CLASSES, is_plain_core_matrix, kernel_class
from diagtool.launch_shapes import Floats
from diagtool.timeline import Timeline
from diagtool.units import fraction, seconds

UNCLASSIFIED = CLASSES[-1]

_NAMED = 3
# From this share of the kernel time on, matrix work on plain cores is named even where the device is mostly idle.
_NOTED_SHARE = 0.2
_FIRST_TENSOR_CORES, _FIRST_TF32 = 7.0, 8.0


@dataclass(frozen=True, slots=True, eq=False)
class Kernels:
    """The kernels of all windows, an element each: ``window`` (index in the context), ``row`` of the table device,
    ``code`` (index in ``names``), ``ns`` inside the window, ``occupancy``, ``limiter`` (index in ``limiters`` or -1)
    and ``waves``.

    ``classes`` and ``plain`` (matrix work on plain cores) go by ``code``.
    """

    window: NDArray[np.int64]
    row: NDArray[np.int64]
    code: NDArray[np.int64]
    ns: NDArray[np.int64]
    occupancy: Floats
    limiter: NDArray[np.int64]
    waves: Floats
    names: tuple[str, ...]
    classes: NDArray[np.str_]
    plain: NDArray[np.bool_]
    limiters: tuple[str, ...]

    @property
    def total_ns(self) -> int:
        """Summed kernel time: kernels side by side count each."""
        return int(self.ns.sum())


def run(timeline: Timeline, context: Context) -> Result:
    """Metrics per device, tables of kernels and of their classes over all devices, and matrix work on plain cores."""
    kernels = collect(timeline, context)
    found = _no_tensor_cores(timeline, context, kernels)
    return Result(
        "kernels",
        metrics=tuple(_metrics(kernels, context)),
        findings=(found,) if found else (),
        tables=(_by_name(kernels), _by_class(kernels)) if len(kernels.row) else (),
    )


def collect(timeline: Timeline, context: Context) -> Kernels:
    """The kernels of all windows with what their launches and names say."""
    device, launched = timeline.device, context.shapes
    kind = device["kind"].to_numpy()
    rows = [window.rows[kind[window.rows] == "kernel"] for window in context.windows]
    inside = [window.inside_ns(timeline, mine) for mine, window in zip(rows, context.windows, strict=True)]
    row = np.concatenate(rows)
    names = tuple(str(name) for name in device["name"].cat.categories)
    return Kernels(
        np.repeat(np.arange(len(rows)), [len(mine) for mine in rows]),
        row,
        device["name"].cat.codes.to_numpy()[row].astype(np.int64),
        np.concatenate(inside),
        launched.occupancy[row],
        launched.limiter[row],
        launched.waves[row],
        names,
        np.array([kernel_class(name) for name in names] or [""]),
        np.array([is_plain_core_matrix(name) for name in names] or [False], np.bool_),
        launched.limiters,
    )


def _metrics(kernels: Kernels, context: Context) -> list[Metric]:
    unclassified = (kernels.classes == UNCLASSIFIED)[kernels.code]
    found = []
    for index, window in enumerate(context.windows):
        here = kernels.window == index
        total = int(kernels.ns[here].sum())
        share = fraction(int(kernels.ns[here & unclassified].sum()), total)
        none = "undefined: the kernels have no length" if here.any() else "not-applicable: no kernel ran"
        reason = "" if total else none
        found += [
            metric("kernels.count", int(here.sum()), window.labels),
            metric("kernels.unclassified_fraction", share, window.labels, reason=reason),
        ]
    return found


def _by_name(kernels: Kernels) -> Table:
    """Costliest first; occupancy is the mean over time, limiter that of most time."""
    order = np.lexsort((kernels.ns, kernels.code))
    code, ns = kernels.code[order], kernels.ns[order]
    first = np.flatnonzero(np.concatenate(([True], code[1:] != code[:-1])))
    calls = np.diff(np.append(first, len(code)))
    total = np.add.reduceat(ns, first)
    # Sorted by time within a name, the middle one or two are the median.
    median = (ns[first + (calls - 1) // 2] + ns[first + calls // 2]) / 2
    known = np.isfinite(kernels.occupancy[order]) & (ns > 0)
    weight = np.add.reduceat(np.where(known, ns, 0), first)
    weighted = np.add.reduceat(np.where(known, kernels.occupancy[order] * ns, 0.0), first)
    rows: list[tuple[Scalar, ...]] = []
    for at in np.lexsort((-calls, -total))[:MOST_KERNELS].tolist():
        here = order[first[at] : first[at] + calls[at]]
        waves = kernels.waves[here]
        rows.append(
            (
                kernels.names[code[first[at]]],
                str(kernels.classes[code[first[at]]]),
                int(calls[at]),
                seconds(int(total[at])),
                fraction(int(total[at]), kernels.total_ns),
                seconds(float(median[at])),
                float(weighted[at] / weight[at]) if weight[at] else None,
                _limiter(kernels, here),
                float(np.median(waves)) if np.isfinite(waves).all() else None,
            )
        )
    columns = (
        Column("kernel"), Column("class"), Column("calls", "count"), Column("time", "s"), Column("share", "fraction"),
        Column("median", "s"), Column("occupancy", "fraction"), Column("limited by"), Column("waves", "count"),
    )  # fmt: skip
    return Table("kernels", "Kernels by time", columns, tuple(rows))


def _limiter(kernels: Kernels, here: NDArray[np.int64]) -> str | None:
    """What limits the occupancy of some kernels for most of their time."""
    limiter = kernels.limiter[here]
    known = limiter >= 0
    if not known.any():
        return None
    # A nanosecond more each, so that kernels without a length have a limiter too.
    time = np.bincount(limiter[known], kernels.ns[here][known] + 1.0)
    return kernels.limiters[int(np.argmax(time))]


def _by_class(kernels: Kernels) -> Table:
    classes, of_name = np.unique(kernels.classes, return_inverse=True)
    ns, calls = np.zeros(len(classes), np.int64), np.zeros(len(classes), np.int64)
    np.add.at(ns, of_name[kernels.code], kernels.ns)
    np.add.at(calls, of_name[kernels.code], 1)
    rows: list[tuple[Scalar, ...]] = [
        (str(classes[one]), int(calls[one]), seconds(int(ns[one])), fraction(int(ns[one]), kernels.total_ns))
        for one in np.argsort(-ns, kind="stable")
        if calls[one]
    ]
    columns = (Column("class"), Column("calls", "count"), Column("time", "s"), Column("share", "fraction"))
    return Table("kernel_classes", "Kernel time by class", columns, tuple(rows))


def _no_tensor_cores(timeline: Timeline, context: Context, kernels: Kernels) -> Finding | None:
    """Matrix work on plain cores, priced at half of its time.

    Half precision halves the bytes and at least doubles the arithmetic of the tensor cores over plain ones, so half is
    saved whichever of them limits the kernel.
    """
    plain = kernels.plain[kernels.code]
    share = fraction(int(kernels.ns[plain].sum()), kernels.total_ns) or 0.0
    candidates = [
        (_union_ns(timeline, window, kernels.row[plain & (kernels.window == index)]), window)
        for index, window in enumerate(context.windows)
        if _generation(context.device_of(timeline, window)) >= _FIRST_TENSOR_CORES
    ]
    if not candidates:
        return None
    ns, window = max(candidates, key=lambda item: item[0] / max(item[1].judged_ns, 1))
    device = context.device_of(timeline, window)
    by_name = groups(np.where(plain, kernels.code, -1))
    costliest = sorted(((int(kernels.ns[here].sum()), code[0]) for code, here in by_name if code[0] >= 0), reverse=True)
    half = "bfloat16" if _generation(device) >= _FIRST_TF32 else "float16"
    tf32 = Fix("Let float32 products use TF32.", 'torch.set_float32_matmul_precision("high")')
    return finding(
        "no-tensor-cores",
        "Matrix products and convolutions run on plain cores although the device has tensor cores.",
        lost_s=seconds(ns) / 2,
        lost_fraction=(fraction(ns, window.judged_ns) or 0.0) / 2,
        evidence=(
            Evidence("matrix kernels on plain cores", share, "fraction", "kernel time"),
            *(Evidence(kernels.names[code], seconds(ns), "s") for ns, code in costliest[:_NAMED]),
        ),
        fix=(
            *([tf32] if _generation(device) >= _FIRST_TF32 else []),
            Fix("Run the model in half precision.", f'torch.autocast("cuda", dtype=torch.{half})'),
        ),
        confidence="medium",
        where=window.place,
        severity_at_least="info" if share >= _NOTED_SHARE else None,
    )


def _generation(device: Device) -> float:
    """Compute capability as a number; 0 where it is unknown or another maker's."""
    known = device.compute_capability is not None and device.warp_size in (None, 32)
    return float(device.compute_capability or 0) if known else 0.0


def _union_ns(timeline: Timeline, window: DeviceWindow, rows: NDArray[np.int64]) -> int:
    starts, ends = timeline.device["start_ns"].to_numpy()[rows], timeline.device["end_ns"].to_numpy()[rows]
    return intervals.clip(intervals.union(starts, ends), window.start_ns, window.end_ns).total_ns
