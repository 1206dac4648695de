"""Engine and training steps: which marks count, and the device work that each step launched.

A server may run ahead of the device, so the work of a step need not run inside its mark. It is the work whose launch
calls lie inside.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagtool.launches import NO_LAUNCH
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
    order = steps["kind"].map({kind: place for place, kind in enumerate(_KINDS)}).astype("float64")
    order = order.fillna(len(_KINDS))
    return steps.loc[order == order.groupby(steps["rank"]).transform("min")]


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
