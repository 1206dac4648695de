"""Engine and training steps: which marks count, and the device work that each step launched.

A server may run ahead of the device, so the work of a step need not run inside its mark. It is the work whose launch
calls lie inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagtool import intervals
from diagtool.grouping import groups
from diagtool.launches import NO_LAUNCH, graph_calls
from diagtool.timeline import Timeline

# The kinds of step marks, most telling first: a server's own marks lie inside those of the profiler.
_KINDS = ("vllm", "sglang", "diffusion", "ProfilerStep")
NO_STEP = -1


class TokenSums(NamedTuple):
    """New tokens of a step by phase, None where its mark does not say."""

    prefill: int | None
    decode: int | None

    @property
    def total(self) -> int | None:
        """All new tokens."""
        return None if self.prefill is None or self.decode is None else self.prefill + self.decode

    @property
    def phase(self) -> str:
        """prefill, decode, mixed, or empty where it is not known or no token was new."""
        if not self.total:
            return ""
        return "mixed" if self.prefill and self.decode else "prefill" if self.prefill else "decode"


def main_steps(steps: pd.DataFrame) -> pd.DataFrame:
    """The marks of the most telling kind of each rank, in time order: a step with several marks counts once."""
    kinds = [str(kind) for kind in steps["kind"].cat.categories]
    telling = np.array([_KINDS.index(kind) if kind in _KINDS else len(_KINDS) for kind in kinds] or [0])
    order = telling[steps["kind"].cat.codes.to_numpy()]
    keep = np.zeros(len(steps), np.bool_)
    for _, rows in groups(steps["rank"].to_numpy()):
        keep[rows] = order[rows] == order[rows].min()
    return steps.loc[keep]


def tokens(step: pd.Series) -> TokenSums:
    """The new tokens of one row of ``steps``."""
    prefill, decode = (step[f"{phase}_sum_q"] for phase in ("prefill", "decode"))
    return TokenSums(None if pd.isna(prefill) else int(prefill), None if pd.isna(decode) else int(decode))


def step_of_work(
    timeline: Timeline, launches: NDArray[np.int64], steps: pd.DataFrame, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each of some rows of ``device`` the position in ``steps`` of the step that launched it, or NO_STEP.

    ``steps`` are those of one rank, in time order; the rows are of that rank.
    """
    found = np.full(len(rows), NO_STEP, np.int64)
    starts, ends = steps["start_ns"].to_numpy(), steps["end_ns"].to_numpy()
    called = launches[rows] != NO_LAUNCH
    if not len(starts) or not called.any():
        return found
    at = timeline.host["start_ns"].to_numpy()[launches[rows[called]]]
    position = np.searchsorted(starts, at, side="right") - 1
    inside = (position >= 0) & (at < ends[np.maximum(position, 0)])
    found[called] = np.where(inside, position, NO_STEP)
    return found


@dataclass(frozen=True, slots=True)
class StepWork:
    """One step on one device; times in ns.

    ``host_ns``: length of its mark. ``span_ns``: first start to last end of the device work
    launched inside it, ``busy_ns`` the union of that work. ``context_tokens``: KV tokens that its attention reads.
    ``graph_calls``: graph launches inside the mark, recorded nodes or not. ``graph_share``: of its kernel time, None
    without kernels.
    """

    place: tuple[int, int]
    name: str
    tokens: TokenSums
    context_tokens: int | None
    requests: int | None
    start_ns: int
    host_ns: int
    span_ns: int
    busy_ns: int
    kernels: int
    graph_calls: int
    graph_share: float | None

    @property
    def duration_ns(self) -> int:
        """The longer of host and device: what the step costs where both work on successive steps at once."""
        return max(self.host_ns, self.span_ns)


def work_of_steps(
    timeline: Timeline,
    launches: NDArray[np.int64],
    graph_launched: NDArray[np.bool_],
    places: Sequence[tuple[int, int]],
) -> tuple[StepWork, ...]:
    """The steps of each (rank, device) in time order; none where the trace has no step marks."""
    graphs = graph_calls(timeline) if len(timeline.steps) else np.empty(0, np.bool_)
    return tuple(step for place in places for step in _of_place(timeline, launches, graph_launched, graphs, place))


def _of_place(
    timeline: Timeline,
    launches: NDArray[np.int64],
    graph_launched: NDArray[np.bool_],
    graphs: NDArray[np.bool_],
    place: tuple[int, int],
) -> list[StepWork]:
    marks = main_steps(timeline.steps.loc[timeline.steps["rank"] == place[0]])
    if not len(marks):
        return []
    device = timeline.device
    # Steps own what they launched, wherever the window ends.
    mine = (device["rank"].to_numpy() == place[0]) & (device["device"].to_numpy() == place[1])
    rows = np.flatnonzero(mine)
    position = step_of_work(timeline, launches, marks, rows)
    order = np.argsort(position, kind="stable")
    first = np.searchsorted(position[order], np.arange(len(marks)), side="left")
    last = np.searchsorted(position[order], np.arange(len(marks)), side="right")
    starts, ends = device["start_ns"].to_numpy(), device["end_ns"].to_numpy()
    kernel = device["kind"].to_numpy() == "kernel"
    called = timeline.host["start_ns"].to_numpy()[graphs & (timeline.host["rank"].to_numpy() == place[0])]
    found = []
    for number, (_, mark) in enumerate(marks.iterrows()):
        work = rows[order[first[number] : last[number]]]
        lengths = (ends[work] - starts[work]) * kernel[work]
        total = int(lengths.sum())
        found.append(
            StepWork(
                place=place,
                name=str(mark["name"]),
                tokens=tokens(mark),
                context_tokens=None
                if pd.isna(context_sum := mark["prefill_sum_kv"] + mark["decode_sum_kv"])
                else int(context_sum),
                requests=None if pd.isna(mark["running"]) else int(mark["running"]),
                start_ns=int(mark["start_ns"]),
                host_ns=int(mark["end_ns"] - mark["start_ns"]),
                span_ns=int(ends[work].max() - starts[work].min()) if len(work) else 0,
                busy_ns=intervals.union(starts[work], ends[work]).total_ns,
                kernels=int(kernel[work].sum()),
                graph_calls=int(np.diff(np.searchsorted(called, [mark["start_ns"], mark["end_ns"]]))[0]),
                graph_share=int(lengths[graph_launched[work]].sum()) / total if total else None,
            )
        )
    return found
