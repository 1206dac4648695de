"""Run the analyses that can run, say why the others cannot, and name what sets the pace.

The module is not called ``diagnose``: the package has a function of that name, and a module would take its place.
"""

from collections.abc import Callable, Iterator, Sequence

from diagtool.analyses import ANALYSES
from diagtool.analyses.analysis import Analysis
from diagtool.context import Context, prepare
from diagtool.diagnosis import Bound, BoundBy, Diagnosis, Finding, Result, Window
from diagtool.timeline import Timeline
from diagtool.units import plural, seconds

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
        kind="steps" if all(one.by_steps for one in windows) else "device",
        seconds=seconds(sum(one.length_ns for one in windows)) / count,
        outside_s=seconds(sum(one.outside.total_ns for one in windows)) / count,
        judged_outside_s=seconds(sum(one.judged_outside.total_ns for one in windows)) / count,
        note="; ".join(_notes(context)),
    )


def _notes(context: Context) -> Iterator[str]:
    if len(context.windows) > 1:
        yield f"mean of {len(context.windows)} devices"
    without = sum(not one.by_steps for one in context.windows)
    if context.window_kind == "steps" and without:
        yield f"no step marks on {plural(without, 'device')}: its device window is used"


_KERNELS = (
    "kernels keep the device busy; counters or the model's shapes would say whether arithmetic or memory limits them"
)
_QUEUED = "launched work has not started: start-up of each launch, or a wait for an event, a stream or a peer"
_UNSEEN = "the device is idle and the trace does not show what it waits for"


def bound_by(results: Sequence[Result], context: Context) -> BoundBy:
    """What sets the pace, from the time accounting and the idle split of all devices, and the runner-up.

    Kernels alone do not say whether compute or memory limits them: without counters or shapes that is ``unknown``.
    """
    judged = sum(one.judged_ns for one in context.windows)
    if not judged:
        reason = "the device events have no length" if context.windows else "no device work was recorded"
        return BoundBy("unknown", None, reason, None)
    share = _shares_of_judged(results, context, judged)
    outside = sum(one.judged_outside.total_ns for one in context.windows) / judged
    candidates = [
        Bound("host", outside + share("idle.host", "idle.sync", "idle.launch")),
        Bound("communication", share("time.communication")),
        Bound("copy", share("copy.exposed")),
        Bound("memory-bandwidth", share("time.copy") - share("copy.exposed"), "copies and sets within the device"),
        Bound("latency", share("idle.queue") - share("idle.untraced"), _QUEUED),
        Bound("unknown", share("idle.untraced", "idle.graph", "idle.unknown"), _UNSEEN),
        Bound("unknown", share("time.compute"), _KERNELS),
        Bound("queueing", share("idle.starved"), "no request was runnable"),
    ]
    first, second, *_ = sorted(candidates, key=lambda bound: -(bound.share or 0.0))
    return BoundBy(first.resource, first.share, first.reason, second if second.share else None)


def _shares_of_judged(results: Sequence[Result], context: Context, judged_ns: int) -> Callable[..., float]:
    """A function of metric names (without ``_fraction``): their sum as a share of all judged time."""
    lengths = {tuple(one.labels.items()): one.length_ns for one in context.windows}
    sums: dict[str, float] = {}
    for one in (metric for result in results for metric in result.metrics):
        if one.unit == "fraction" and one.value is not None:
            weight = lengths[tuple(one.labels.items())] / judged_ns
            sums[one.name] = sums.get(one.name, 0.0) + one.value * weight
    return lambda *names: min(sum(sums.get(f"{name}_fraction", 0.0) for name in names), 1.0)
