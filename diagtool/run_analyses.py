"""Run the analyses that can run, say why the others cannot, and name what sets the pace.

The module is not called ``diagnose``: the package has a function of that name, and a module would take its place.
"""

from collections.abc import Callable, Iterator, Sequence

from diagtool.analyses import ANALYSES
from diagtool.analyses.analysis import Analysis
from diagtool.context import Context, prepare
from diagtool.diagnosis import Bound, BoundBy, Diagnosis, Finding, Result, Scalar, Window
from diagtool.scope import Scope
from diagtool.timeline import Timeline
from diagtool.units import percent_text, plural, seconds

_NO_ROWS = {
    "device": "no device events: the trace holds {host} only; record with the device's activity, "
    "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
}


def diagnose(timeline: Timeline, scope: Scope | None = None, *, window: str = "device") -> Diagnosis:
    """The diagnosis of a timeline, or of what ``scope`` names of it; ``window`` is short for ``Scope(window=...)``.

    An input without device work has no window and no findings about it; every analysis that needs it says so.
    """
    clean, context = prepare(timeline, scope or Scope(window=window))
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
    if context.scope.by_steps and without:
        yield f"no step marks on {plural(without, 'device')}: its device window is used"


# From here on a kernel is taken to be limited by the roof it is under, as Nsight Compute's speed-of-light rules do.
_NEAR_ROOF = 0.6
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
        *_kernels(results, share("time.compute")),
        Bound("queueing", share("idle.starved"), "no request was runnable"),
    ]
    first, second, *_ = sorted(_merged(candidates), key=lambda bound: -(bound.share or 0.0))
    return BoundBy(first.resource, first.share, first.reason, second if second.share else None)


def _kernels(results: Sequence[Result], share: float) -> tuple[Bound, ...]:
    """What limits the kernels: the roof that attention and linear layers are near, where the model's shapes say it."""
    known = [point for point in _rows(results, "roofline") if point["fraction"] is not None]
    kernels = [row for row in _rows(results, "kernels") if row["class"] != "collective"]
    spent = sum(float(row["time"] or 0) for row in kernels)
    if not known or not spent:
        return (Bound("unknown", share, _KERNELS),)
    time = sum(float(point["time"] or 0) for point in known)
    near = sum(float(point["at the roof"] or 0) for point in known) / time
    at = f"attention and linear layers run at {percent_text(near)} of their roof (modelled)"
    if near < _NEAR_ROOF:
        return (Bound("unknown", share, f"{at}: far from either roof"),)
    parts = [(str(point["roof"]), min(float(point["time"] or 0) / spent, 1.0)) for point in known]
    rest = max(1 - sum(part for _, part in parts), 0.0)
    return (*(Bound(roof, share * part, at) for roof, part in parts), Bound("unknown", share * rest, _KERNELS))


def _merged(bounds: Sequence[Bound]) -> list[Bound]:
    """One bound a resource: the sum of its shares, for the reason of the largest."""
    found: dict[str, Bound] = {}
    for bound in sorted(bounds, key=lambda one: -(one.share or 0.0)):
        known = found.get(bound.resource)
        total = min((known.share or 0.0 if known else 0.0) + (bound.share or 0.0), 1.0)
        found[bound.resource] = Bound(bound.resource, total, known.reason if known else bound.reason)
    return list(found.values())


def _rows(results: Sequence[Result], name: str) -> list[dict[str, Scalar]]:
    """The rows of a table by column."""
    table = next((one for result in results for one in result.tables if one.name == name), None)
    names = [column.name for column in table.columns] if table else []
    return [dict(zip(names, row, strict=True)) for row in table.rows] if table else []


def _shares_of_judged(results: Sequence[Result], context: Context, judged_ns: int) -> Callable[..., float]:
    """A function of metric names (without ``_fraction``): their sum as a share of all judged time."""
    lengths = {tuple(one.labels.items()): one.length_ns for one in context.windows}
    sums: dict[str, float] = {}
    for one in (metric for result in results for metric in result.metrics):
        if one.unit == "fraction" and one.value is not None and tuple(one.labels.items()) in lengths:
            weight = lengths[tuple(one.labels.items())] / judged_ns
            sums[one.name] = sums.get(one.name, 0.0) + one.value * weight
    return lambda *names: min(sum(sums.get(f"{name}_fraction", 0.0) for name in names), 1.0)
