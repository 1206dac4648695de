"""What of a timeline is looked at: ranks, devices, steps; and what the user states about the device and the model."""

from dataclasses import dataclass, replace

import numpy as np

from diagtool.config import WINDOWS
from diagtool.engine_steps import main_steps
from diagtool.errors import UsageError
from diagtool.hardware.peaks import Peaks
from diagtool.model_shapes import ModelShapes
from diagtool.timeline import COLUMNS, Timeline


@dataclass(frozen=True, slots=True)
class Scope:
    """``window`` is ``device`` (first start to last end of a device's events) or ``steps`` (first to last step mark;
    devices without step marks keep their own span).

    ``steps`` is a range of positions, counted from 0 as in a Python slice; it implies ``steps`` as the window.
    ValueError for another window, or a range that is empty.
    """

    window: str = "device"
    rank: int | None = None
    device: int | None = None
    steps: tuple[int | None, int | None] | None = None
    peaks: Peaks | None = None
    model: ModelShapes | None = None

    def __post_init__(self) -> None:
        if self.window not in WINDOWS:
            raise ValueError(f"window is {self.window!r}: known are {', '.join(WINDOWS)}")

    @property
    def by_steps(self) -> bool:
        """Whether the window is that of the step marks."""
        return self.window == "steps" or self.steps is not None


WHOLE = Scope()


def choose(timeline: Timeline, scope: Scope) -> Timeline:
    """The timeline of the chosen rank and device alone; UsageError when there is none, naming those there are.

    Of the steps only those in the range stay; the work around them does, since it says what the first one waited for.
    """
    if scope.rank is not None:
        timeline = _of_rank(timeline, scope.rank)
    if scope.device is not None:
        known = sorted({device.index for device in timeline.devices})
        if scope.device not in known:
            raise UsageError(
                f"no device {scope.device} in the trace", f"it has: {', '.join(map(str, known)) or 'none'}"
            )
        timeline = timeline.keep("device", timeline.device["device"].to_numpy() == scope.device)
        timeline = replace(timeline, devices=tuple(d for d in timeline.devices if d.index == scope.device))
    return _of_steps(timeline, *scope.steps) if scope.steps is not None else timeline


def _of_rank(timeline: Timeline, rank: int) -> Timeline:
    known = sorted({*np.unique(timeline.host["rank"]).tolist(), *np.unique(timeline.device["rank"]).tolist()})
    if rank not in known:
        raise UsageError(f"no rank {rank} in the trace", f"it has: {', '.join(map(str, known)) or 'none'}")
    for table in COLUMNS:
        timeline = timeline.keep(table, getattr(timeline, table)["rank"].to_numpy() == rank)
    recording = {one: span for one, span in timeline.recording_ns.items() if one == rank}
    devices = tuple(device for device in timeline.devices if device.rank == rank)
    return replace(timeline, recording_ns=recording, devices=devices)


def _of_steps(timeline: Timeline, first: int | None, last: int | None) -> Timeline:
    marks = main_steps(timeline.steps)
    position = marks.groupby("rank").cumcount()
    count = int(position.max()) + 1 if len(marks) else 0
    inside = range(count)[slice(first, last)]
    if not len(inside):
        raise UsageError(
            f"no steps {'' if first is None else first}:{'' if last is None else last} in the trace",
            f"it has {count} steps, counted from 0" if count else "it has no step marks",
        )
    chosen = marks.loc[position.isin(inside)]
    return timeline.keep("steps", timeline.steps.index.isin(chosen.index))
