"""How much work was done? Steps, tokens and calls: what the time of one capture is divided by to compare it with
another.

Every device counts for itself: its rank's steps and tokens, and the operators that launched its work. So a sum over
the devices divided by their number is what one device did.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from diagtool.context import Context, DeviceWindow
from diagtool.diagnosis import Column, Result, Scalar, Table
from diagtool.engine_steps import main_steps, tokens
from diagtool.grouping import distinct, groups
from diagtool.launches import NO_LAUNCH
from diagtool.timeline import Timeline

_MOST_OPERATORS = 300

_Unit = tuple[str, str, str]


def run(timeline: Timeline, context: Context) -> Result:
    """A table of the work of all devices: (unit, kind, name, count), at most 300 operators by count."""
    marked: Counter[_Unit] = Counter()
    called: Counter[_Unit] = Counter()
    for window in context.windows:
        marked.update(_steps_and_tokens(timeline, window))
        called.update(_operators(timeline, context, window))
    operators = sorted(called.items(), key=lambda item: (-item[1], item[0]))[:_MOST_OPERATORS]
    rows: tuple[tuple[Scalar, ...], ...] = tuple((*unit, count) for unit, count in (*marked.items(), *operators))
    columns = (Column("unit"), Column("kind"), Column("name"), Column("count", "count"))
    return Result("work_done", tables=(Table("work", "Work done, all devices", columns, rows),))


def _steps_and_tokens(timeline: Timeline, window: DeviceWindow) -> Counter[_Unit]:
    """Steps by kind of mark; new tokens by phase and the KV tokens read, where every step states them."""
    marks = main_steps(timeline.steps.loc[timeline.steps["rank"] == window.rank])
    if not len(marks):
        return Counter()
    # SGLang writes vLLM's marks.
    server = str(timeline.environment.get("server", "vllm"))
    found: Counter[_Unit] = Counter(("step", "mark", server if kind == "vllm" else str(kind)) for kind in marks["kind"])
    stated = [tokens(mark) for _, mark in marks.iterrows()]
    read = (marks["prefill_sum_kv"] + marks["decode_sum_kv"]).astype("float64").to_numpy()
    sums: dict[_Unit, list[int | None]] = {
        ("token", "phase", "prefill"): [one.prefill for one in stated],
        ("token", "phase", "decode"): [one.decode for one in stated],
        ("token", "context", "KV read"): [None if np.isnan(count) else int(count) for count in read],
    }
    for unit, counts in sums.items():
        known = [count for count in counts if count is not None]
        total = sum(known)
        if len(known) == len(counts) and total:
            found[unit] = total
    return found


def _operators(timeline: Timeline, context: Context, window: DeviceWindow) -> Counter[_Unit]:
    """Calls of operators that launched work of the window, themselves or by a call inside them, by name.

    Views and other operators that launch nothing come and go with the version of the framework: they are no measure.
    """
    host = timeline.host
    rows = np.flatnonzero((host["rank"].to_numpy() == window.rank) & (host["kind"].to_numpy() == "op"))
    launches = context.launches[window.rows]
    launches = distinct(launches[launches != NO_LAUNCH])
    if not len(rows) or not len(launches):
        return Counter()
    names = host["name"].cat.categories
    calls: Counter[_Unit] = Counter()
    for launching in _that_launched(timeline, rows, launches):
        codes, counts = np.unique(host["name"].cat.codes.to_numpy()[launching], return_counts=True)
        calls.update({("call", "operator", str(names[code])): int(n) for code, n in zip(codes, counts, strict=True)})
    return calls


def _that_launched(
    timeline: Timeline, rows: NDArray[np.int64], launches: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """Thread by thread, those of some calls inside which one of the launches began."""
    host = timeline.host
    starts, ends = host["start_ns"].to_numpy(), host["end_ns"].to_numpy()
    process, thread = host["process"].to_numpy(), host["thread"].to_numpy()
    begun = {place: np.sort(starts[launches[mine]]) for place, mine in groups(process[launches], thread[launches])}
    for place, mine in groups(process[rows], thread[rows]):
        if place in begun:
            called = rows[mine]
            first = np.searchsorted(begun[place], starts[called], side="left")
            yield called[np.searchsorted(begun[place], ends[called], side="left") > first]
