"""Why was the device idle? The idle split of each device as metrics, and what it says about causes."""

from collections.abc import Sequence

from diagtool.analyses import idle_findings
from diagtool.analyses.idle_split import Split, longest_first, name_of, split
from diagtool.context import Context
from diagtool.diagnosis import Column, Metric, Result, Scalar, Table, metric
from diagtool.kernel_classes import short_name
from diagtool.metrics import IDLE_CLASSES
from diagtool.timeline import Timeline
from diagtool.units import fraction, seconds

_MOST_NAMES = 10


def run(timeline: Timeline, context: Context) -> Result:
    """Metrics per device, the host work that was waited for, the gaps that stand out, and the findings."""
    splits = split(timeline, context)
    return Result(
        "idle_causes",
        metrics=tuple(m for one in splits for m in _metrics(one)),
        findings=idle_findings.judge(timeline, context, splits),
        tables=tuple(table for table in (_host_work(splits), _large_gaps(timeline, splits)) if table.rows),
    )


def _metrics(one: Split) -> list[Metric]:
    whole, labels = one.window.length_ns, one.window.labels
    reason = "" if whole else "undefined: the window has no length"
    shares = {f"idle.{name}_fraction": one.by_class[name] for name in IDLE_CLASSES}
    shares |= {"idle.untraced_fraction": one.untraced_ns, "idle.after_sync_fraction": one.after_sync_ns}
    known = {name: metric(name, fraction(ns, whole), labels, reason=reason) for name, ns in shares.items()}
    if not one.starved_known:
        missing = "missing: no step mark says how many requests were runnable"
        known["idle.starved_fraction"] = metric("idle.starved_fraction", None, labels, reason=missing)
    outside = seconds(one.window.outside.total_ns) if one.window.step_thread else None
    return [
        *known.values(),
        metric("window.outside_s", outside, labels, reason="" if one.window.step_thread else "missing: no step marks"),
    ]


def _host_work(splits: Sequence[Split]) -> Table:
    judged = sum(one.window.judged_ns for one in splits)
    parts = [part for one in splits for part in (one.by_name, one.outside_by_name)]
    rows = [(name, seconds(ns), fraction(ns, judged)) for name, ns in longest_first(parts)[:_MOST_NAMES]]
    columns = (Column("deepest call"), Column("time", "s"), Column("share", "fraction"))
    return Table("host_work", "What the host ran before the launches the device waited for", columns, tuple(rows))


def _large_gaps(timeline: Timeline, splits: Sequence[Split]) -> Table:
    rows: list[tuple[Scalar, ...]] = [
        (
            one.window.rank,
            one.window.device,
            seconds(gap.start_ns - one.window.start_ns),
            seconds(gap.length_ns),
            fraction(gap.length_ns, one.window.length_ns),
            gap.main,
            f"{name_of(timeline.host, gap.launch_row)} -> {short_name(name_of(timeline.device, gap.event_row))}",
        )
        for one in splits
        for gap in one.dominant_gaps
    ]
    columns = (
        Column("rank"), Column("device"), Column("at", "s"), Column("length", "s"), Column("share", "fraction"),
        Column("mainly"), Column("ended by call -> work"),
    )  # fmt: skip
    return Table("large_gaps", "Single gaps over 10 % of the window", columns, tuple(rows))
