"""Can the trace be believed? What was lost on reading, and what was read but cannot be true."""

from diagtool import intervals
from diagtool.context import Context
from diagtool.diagnosis import Column, Evidence, Finding, Fix, Result, Table, finding, metric
from diagtool.launches import NO_LAUNCH
from diagtool.timeline import Timeline
from diagtool.units import fraction, plural, seconds

_MOST_SUSPECTS = 20


def run(timeline: Timeline, context: Context) -> Result:
    """Counts of lost and impossible events, and one finding for each kind of doubt."""
    excluded = sum(suspect.excluded for suspect in context.suspects)
    cut = any(loss.unit == "file" for loss in timeline.source.lost)
    lost = None if cut else sum(loss.count for loss in timeline.source.lost)
    metrics = [
        metric("trace.lost_events", lost, reason="unknown: a file is cut or damaged" if cut else ""),
        metric("trace.impossible_events", excluded),
    ]
    for window in context.windows:
        busy = context.spans(timeline, window).total_ns
        rows = window.rows[context.launches[window.rows] == NO_LAUNCH]
        starts, ends = (timeline.device[name].to_numpy()[rows] for name in ("start_ns", "end_ns"))
        alone = intervals.clip(intervals.union(starts, ends), window.start_ns, window.end_ns).total_ns
        share = fraction(alone, busy)
        reason = "" if busy else "undefined: no busy time"
        metrics.append(metric("trace.launched_before_fraction", share, window.labels, reason=reason))
    findings = (_lost(timeline), _impossible(context), _dominant(context))
    return Result(
        "trace_integrity",
        metrics=tuple(metrics),
        findings=tuple(item for item in findings if item),
        tables=(_suspects(context),) if context.suspects else (),
    )


def _lost(timeline: Timeline) -> Finding | None:
    lost = timeline.source.lost
    if not lost:
        return None
    return finding(
        "trace-integrity",
        "Part of the input could not be read; every figure is of what remained.",
        lost_s=0.0,
        lost_fraction=0.0,
        evidence=[Evidence(loss.what, loss.count, "count", loss.detail) for loss in lost],
        fix=(Fix("Record again, and let the profiler finish writing before the process ends."),),
        severity_at_least="info",
    )


def _impossible(context: Context) -> Finding | None:
    found = [suspect for suspect in context.suspects if suspect.excluded]
    if not found:
        return None
    longest = max(found, key=lambda suspect: suspect.duration_ns)
    return finding(
        "trace-integrity",
        f"{plural(len(found), 'event')} cannot be true and {'is' if len(found) == 1 else 'are'} left out.",
        lost_s=0.0,
        lost_fraction=0.0,
        evidence=[
            Evidence(f"duration of {longest.name}, which {longest.reason}", seconds(longest.duration_ns), "s"),
            Evidence("left out", len(found), "count"),
        ],
        fix=(Fix("Update the profiler (CUPTI, roctracer), or record a shorter window."),),
        where={"rank": longest.rank, "device": longest.device},
        severity_at_least="info",
    )


def _dominant(context: Context) -> Finding | None:
    found = [suspect for suspect in context.suspects if not suspect.excluded]
    if not found:
        return None
    return finding(
        "trace-integrity",
        f"{plural(len(found), 'device event')} of over half of the window: it may be real, but look at it first.",
        lost_s=0.0,
        lost_fraction=0.0,
        evidence=[Evidence(suspect.name, seconds(suspect.duration_ns), "s", "one event") for suspect in found],
        where={"rank": found[0].rank, "device": found[0].device},
        severity_at_least="info",
        confidence="medium",
    )


def _suspects(context: Context) -> Table:
    columns = (
        Column("event"), Column("rank"), Column("device"), Column("start", "s"), Column("duration", "s"),
        Column("doubt"), Column("left out"),
    )  # fmt: skip
    rows = tuple(
        (
            s.name,
            s.rank,
            s.device,
            seconds(s.start_ns),
            seconds(s.duration_ns),
            s.reason,
            "yes" if s.excluded else "no",
        )
        for s in context.suspects[:_MOST_SUSPECTS]
    )
    return Table("suspects", "Events in doubt", columns, rows)
