"""Run the analyses that can run, say why the others cannot, and name what sets the pace."""

from collections.abc import Mapping, Sequence

from diagtool.analyses import ANALYSES
from diagtool.analyses.analysis import Analysis
from diagtool.context import Context, prepare
from diagtool.device_work import BUS_COPIES
from diagtool.diagnosis import Bound, BoundBy, Diagnosis, Finding, Result, Window
from diagtool.timeline import Timeline
from diagtool.units import NS_PER_S, plural, seconds

_NO_ROWS = {
    "device": "no device events: the trace holds {host} only; record with the device's activity, "
    "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
}


def diagnose(timeline: Timeline, *, window: str = "device") -> Diagnosis:
    """The diagnosis of a timeline. ``window`` is ``device`` or ``steps``, see context.prepare.

    An input without device work has no window and no findings about it; every analysis that needs it says so.
    """
    clean, context = prepare(timeline, window)
    results = tuple(_run(analysis, clean, context) for analysis in ANALYSES)
    findings = sorted((f for result in results for f in result.findings), key=_rank)
    return Diagnosis(
        source=clean.source,
        devices=clean.devices,
        environment=clean.environment,
        workload={},
        window=_window(context),
        bound_by=bound_by(results, context),
        findings=tuple(findings),
        results=results,
    )


def _run(analysis: Analysis, timeline: Timeline, context: Context) -> Result:
    for table in analysis.needs:
        if not len(getattr(timeline, table)):
            reason = _NO_ROWS.get(table, f"no rows in {table}")
            return Result(analysis.name, skipped=reason.format(host=plural(len(timeline.host), "host event")))
    return analysis.run(timeline, context)


def _rank(finding: Finding) -> tuple[float, str, str]:
    return (-finding.lost_s, finding.cause, finding.title)


def _window(context: Context) -> Window | None:
    windows = context.windows
    if not windows:
        return None
    count = len(windows)
    return Window(
        kind=context.window_kind,
        seconds=seconds(sum(one.length_ns for one in windows)) / count,
        outside_s=seconds(sum(one.outside.total_ns for one in windows)) / count,
        judged_outside_s=seconds(sum(one.judged_outside.total_ns for one in windows)) / count,
        note=f"mean of {count} devices" if count > 1 else "",
    )


_KERNELS = (
    "kernels keep the device busy; counters or the model's shapes would say whether arithmetic or memory limits them"
)
_QUEUED = "launched work has not started: start-up of each launch, or a wait for an event, a stream or a peer"
_UNSEEN = "the device is idle and the trace does not show what it waits for"


def bound_by(results: Sequence[Result], context: Context) -> BoundBy:
    """What sets the pace, from the time accounting and the idle split of all devices, and the runner-up.

    Kernels alone do not say whether compute or memory limits them: without counters or shapes that is ``unknown``.
    """
    shares = _mean_shares(results, context)
    if not shares:
        return BoundBy("unknown", None, "no device work was recorded", None)
    candidates = [
        Bound("host", shares["host"]),
        Bound("communication", shares["time.communication_fraction"]),
        Bound("copy", shares["copy.bus"]),
        Bound("memory-bandwidth", shares["copy.memory"], "device-to-device copies and sets"),
        Bound("latency", shares["idle.queue_fraction"] - shares["untraced"], _QUEUED),
        Bound(
            "unknown",
            shares["untraced"] + shares["idle.graph_fraction"] + shares["idle.unknown_fraction"],
            _UNSEEN,
        ),
        Bound("unknown", shares["time.compute_fraction"], _KERNELS),
        Bound("queueing", shares["idle.starved_fraction"], "no request was runnable"),
    ]
    first, second, *_ = sorted(candidates, key=lambda bound: -(bound.share or 0.0))
    return BoundBy(first.resource, first.share, first.reason, second if second.share else None)


def _mean_shares(results: Sequence[Result], context: Context) -> Mapping[str, float]:
    """Shares of all judged time, step time outside the window counted as the host's."""
    judged = sum(one.judged_ns for one in context.windows)
    if not judged:
        return {}
    lengths = {tuple(sorted(one.labels.items())): one.length_ns for one in context.windows}
    shares: dict[str, float] = {}
    for result in results:
        for one in result.metrics:
            if one.unit == "fraction" and one.value is not None:
                weight = lengths.get(tuple(sorted(one.labels.items())), 0) / judged
                shares[one.name] = shares.get(one.name, 0.0) + one.value * weight
    outside = sum(one.judged_outside.total_ns for one in context.windows) / judged
    shares["host"] = outside + sum(shares[f"idle.{name}_fraction"] for name in ("host", "sync", "launch"))
    bus = _table_seconds(results, "accounting", "class", [f"copy {kind}" for kind in BUS_COPIES]) * NS_PER_S / judged
    shares["copy.bus"] = bus
    shares["untraced"] = min(
        _table_seconds(results, "large_gaps", "mainly", ["queue"]) * NS_PER_S / judged,
        shares["idle.queue_fraction"],
    )
    shares["copy.memory"] = max(shares["time.copy_fraction"] - bus, 0.0)
    return shares


def _table_seconds(results: Sequence[Result], name: str, column: str, wanted: Sequence[str]) -> float:
    """Summed times of the rows of a table whose text column has one of some values."""
    total = 0.0
    for table in (table for result in results for table in result.tables if table.name == name):
        names = [one.name for one in table.columns]
        text = names.index(column)
        time = next(i for i in reversed(range(len(names))) if table.columns[i].unit == "s")
        total += sum(float(row[time] or 0.0) for row in table.rows if row[text] in wanted)
    return total
