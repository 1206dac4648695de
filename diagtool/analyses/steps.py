"""How long does a step take, and which steps stand out? By phase, with tokens where the marks state them."""

from collections.abc import Sequence

import numpy as np

from diagtool.context import Context, DeviceWindow
from diagtool.diagnosis import Column, Evidence, Finding, Fix, Metric, Result, Scalar, Table, finding, metric
from diagtool.engine_steps import StepWork
from diagtool.timeline import Timeline
from diagtool.units import fraction, seconds

_MOST_ROWS = 1000
# A step this many times longer than the median of its phase stands out, where there are enough to have one.
_OUTLIER, _LEAST_STEPS = 1.5, 5


def run(timeline: Timeline, context: Context) -> Result:
    """Metrics per device and a table of the steps."""
    steps = context.steps
    by_place = {
        (one.rank, one.device): [s for s in steps if s.place == (one.rank, one.device)] for one in context.windows
    }
    outliers = {id(step) for members in by_place.values() for step in _outliers(members)}
    return Result(
        "steps",
        metrics=tuple(
            m
            for one in context.windows
            for m in _metrics(by_place[(one.rank, one.device)], one, _sharing(context, one))
        ),
        findings=tuple(f for f in (_unrecorded(steps),) if f),
        tables=(_table(steps, outliers),) if steps else (),
    )


def _unrecorded(steps: Sequence[StepWork]) -> Finding | None:
    """A doubt about traces in which the device's work stands in a few of many steps: the rest was not recorded."""
    empty = [step for step in steps if not step.span_ns]
    if len(steps) < _LEAST_STEPS or 2 * len(empty) <= len(steps) or len(empty) == len(steps):
        return None
    return finding(
        "trace-integrity",
        "Most steps have no recorded device work: the profiler lost it, and the device looks idle where it was not.",
        lost_s=0.0,
        lost_fraction=0.0,
        evidence=(Evidence("steps without recorded work", len(empty), "count"), Evidence("steps", len(steps), "count")),
        fix=(Fix("Record fewer steps, or give the profiler a larger buffer."),),
        severity_at_least="warning",
    )


def _outliers(steps: Sequence[StepWork]) -> list[StepWork]:
    """Steps far longer than the median of their phase."""
    found = []
    for phase in dict.fromkeys(step.tokens.phase for step in steps):
        alike = [step for step in steps if step.tokens.phase == phase]
        if len(alike) >= _LEAST_STEPS:
            usual = float(np.median([step.duration_ns for step in alike]))
            found += [step for step in alike if step.duration_ns > _OUTLIER * usual]
    return found


def _sharing(context: Context, window: DeviceWindow) -> int | None:
    """How many devices share the model; one where no collective runs, None where some do and nobody says."""
    if context.scope.model is not None:
        return context.scope.model.tensor_parallel
    return None if (context.work[window.rows] == "communication").any() else 1


def _metrics(steps: Sequence[StepWork], window: DeviceWindow, sharing: int | None) -> list[Metric]:
    labels = window.labels
    none = "" if steps else "missing: no step marks"
    durations = [step.duration_ns for step in steps]
    with_work = [step for step in steps if step.kernels and step.duration_ns]
    counted = [step.tokens.total for step in steps]
    known = np.array([one for one in counted if one is not None], np.int64)
    total = int(known.sum()) if steps and len(known) == len(steps) else None
    spent_s = seconds(sum(durations))
    rate = total / spent_s if total is not None and spent_s else None
    no_rate = "" if rate else "missing: the step marks do not state their tokens"
    few = "" if len(steps) >= _LEAST_STEPS else f"too-few-samples: {len(steps)} steps"
    return [
        metric("steps.count", len(steps), labels),
        metric(
            "steps.duration_p50_s",
            seconds(float(np.median(durations))) if steps else None,
            labels,
            reason=none,
            samples=[seconds(ns) for ns in durations[:_MOST_ROWS]],
        ),
        metric(
            "steps.busy_p50_fraction",
            float(np.median([step.busy_ns / step.duration_ns for step in with_work])) if with_work else None,
            labels,
            reason=none or ("" if with_work else "missing: no step launched recorded work"),
        ),
        metric("steps.outliers", None if few else len(_outliers(steps)), labels, reason=none or few),
        metric(
            "steps.tokens_per_s",
            rate,
            labels,
            reason=none or no_rate,
        ),
        metric(
            "steps.device_s_per_token",
            sharing / rate if rate and sharing else None,
            labels,
            reason=none
            or no_rate
            or ("" if sharing else "missing: how many devices share the model: give --model NAME,tp=N"),
        ),
    ]


def _table(steps: Sequence[StepWork], outliers: set[int]) -> Table:
    origin = min(step.start_ns for step in steps)
    rows: list[tuple[Scalar, ...]] = [
        (
            step.place[0], step.place[1], step.name, step.tokens.phase or None, seconds(step.start_ns - origin),
            seconds(step.duration_ns), seconds(step.host_ns), seconds(step.span_ns),
            fraction(step.busy_ns, step.duration_ns), step.kernels, step.graph_share, step.requests,
            step.tokens.prefill, step.tokens.decode, step.context_tokens, "outlier" if id(step) in outliers else "",
        )
        for step in steps[:_MOST_ROWS]
    ]  # fmt: skip
    columns = (
        Column("rank"), Column("device"), Column("step"), Column("phase"), Column("at", "s"), Column("duration", "s"),
        Column("host", "s"), Column("device span", "s"), Column("busy", "fraction"), Column("kernels", "count"),
        Column("graphs", "fraction"), Column("requests", "count"), Column("prefill tokens", "count"),
        Column("decode tokens", "count"), Column("KV tokens", "count"), Column("note"),
    )  # fmt: skip
    more = f" (first {_MOST_ROWS} of {len(steps)})" if len(steps) > _MOST_ROWS else ""
    return Table("steps", f"Steps{more}", columns, tuple(rows))
