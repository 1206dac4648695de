"""The steps of each device with the work each launched: what the analyses of steps and of graphs start from."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from diagtool import intervals
from diagtool.context import Context, DeviceWindow
from diagtool.engine_steps import TokenSums, main_steps, step_of_work, tokens
from diagtool.launches import graph_calls
from diagtool.timeline import Timeline


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


def collect(timeline: Timeline, context: Context) -> list[StepWork]:
    """The steps of every device, in time order; none where the trace has no step marks."""
    return [step for window in context.windows for step in _of_window(timeline, context, window)]


def _of_window(timeline: Timeline, context: Context, window: DeviceWindow) -> list[StepWork]:
    marks = main_steps(timeline.steps.loc[timeline.steps["rank"] == window.rank])
    if not len(marks):
        return []
    device = timeline.device
    # Steps own what they launched, wherever the window ends.
    mine = (device["rank"].to_numpy() == window.rank) & (device["device"].to_numpy() == window.device)
    rows = np.flatnonzero(mine)
    position = step_of_work(timeline, context.launches, marks, rows)
    order = np.argsort(position, kind="stable")
    first = np.searchsorted(position[order], np.arange(len(marks)), side="left")
    last = np.searchsorted(position[order], np.arange(len(marks)), side="right")
    starts, ends = device["start_ns"].to_numpy(), device["end_ns"].to_numpy()
    kernel = device["kind"].to_numpy() == "kernel"
    graphs = timeline.host["start_ns"].to_numpy()[
        graph_calls(timeline) & (timeline.host["rank"].to_numpy() == window.rank)
    ]
    found = []
    for number, (_, mark) in enumerate(marks.iterrows()):
        work = rows[order[first[number] : last[number]]]
        lengths = (ends[work] - starts[work]) * kernel[work]
        total = int(lengths.sum())
        found.append(
            StepWork(
                place=(window.rank, window.device),
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
                graph_calls=int(np.count_nonzero((graphs >= mark["start_ns"]) & (graphs < mark["end_ns"]))),
                graph_share=int(lengths[context.graph_launched[work]].sum()) / total if total else None,
            )
        )
    return found
