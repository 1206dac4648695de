"""What was compiled, tuned or loaded while recording? Work that a warm recording does not hold."""

import re

import numpy as np
from numpy.typing import NDArray

from diagtool import intervals
from diagtool.analyses.host_thread import START_UP_WORK
from diagtool.context import Context
from diagtool.diagnosis import Column, Metric, Result, Scalar, Table, metric
from diagtool.engine_steps import main_steps
from diagtool.grouping import distinct, groups
from diagtool.timeline import Timeline
from diagtool.units import seconds


def run(timeline: Timeline, context: Context) -> Result:
    """Metrics per device and a table by kind of work. What it costs is the finding warm-up of the idle causes."""
    rows = {what: _calls(timeline, pattern) for what, pattern in START_UP_WORK}
    return Result(
        "start_up",
        metrics=tuple(m for one in context.windows for m in _metrics(timeline, rows, one.rank, one.labels)),
        tables=tuple(table for table in (_table(timeline, rows),) if table.rows),
    )


def _calls(timeline: Timeline, pattern: re.Pattern[str]) -> NDArray[np.int64]:
    names = timeline.host["name"].cat.categories
    wanted = np.array([pattern.search(str(name)) is not None for name in names] or [False], np.bool_)
    return np.flatnonzero(wanted[timeline.host["name"].cat.codes.to_numpy()])


def _metrics(timeline: Timeline, rows: dict[str, NDArray[np.int64]], rank: int, labels: dict[str, str]) -> list[Metric]:
    ranks = timeline.host["rank"].to_numpy()
    every = np.concatenate([found[ranks[found] == rank] for found in rows.values()])
    compiling = rows["compile"][ranks[rows["compile"]] == rank]
    steps = main_steps(timeline.steps.loc[timeline.steps["rank"] == rank])
    return [
        metric("start_up.time_s", seconds(_time_ns(timeline, every)), labels),
        metric(
            "start_up.compiling_steps",
            _steps_with(timeline, compiling, steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy())
            if len(steps)
            else None,
            labels,
            reason="" if len(steps) else "missing: no step marks",
        ),
    ]


def _time_ns(timeline: Timeline, rows: NDArray[np.int64]) -> int:
    """Time inside some calls, nested and parallel ones of a rank counted once."""
    starts, ends, ranks = (timeline.host[name].to_numpy()[rows] for name in ("start_ns", "end_ns", "rank"))
    return sum(intervals.union(starts[here], ends[here]).total_ns for _, here in groups(ranks))


def _steps_with(timeline: Timeline, rows: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> int:
    """In how many steps some calls began."""
    at = timeline.host["start_ns"].to_numpy()[rows]
    position = np.searchsorted(starts, at, side="right") - 1
    return len(distinct(position[(position >= 0) & (at < ends[np.maximum(position, 0)])]))


def _table(timeline: Timeline, rows: dict[str, NDArray[np.int64]]) -> Table:
    found: list[tuple[Scalar, ...]] = []
    names, codes = timeline.host["name"].cat.categories, timeline.host["name"].cat.codes.to_numpy()
    lengths = timeline.host["end_ns"].to_numpy() - timeline.host["start_ns"].to_numpy()
    for what, calls in rows.items():
        if len(calls):
            longest = int(calls[np.argmax(lengths[calls])])
            found.append((what, len(calls), seconds(_time_ns(timeline, calls)), seconds(int(lengths[longest])),
                          str(names[codes[longest]])))  # fmt: skip
    columns = (
        Column("what"), Column("calls", "count"), Column("time", "s"), Column("longest", "s"), Column("longest call"),
    )  # fmt: skip
    return Table("start_up", "Start-up work in the recording", columns, tuple(found))
