"""What a CPU thread was doing at each instant: the deepest of the nested calls that cover it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from diagtool.grouping import distinct
from diagtool.intervals import Intervals, Ns

NOBODY = -1


class Segments(NamedTuple):
    """Stretches of one thread, in time order without gaps: ``owner`` is the deepest call, or NOBODY."""

    starts: Ns
    ends: Ns
    owner: NDArray[np.int64]


def segments(starts: Ns, ends: Ns, rows: NDArray[np.int64]) -> Segments:
    """Deepest call over time from the calls of one thread; ``rows`` are the ids reported as owners.

    Calls nest in a sound trace. Where they overlap without nesting the later one counts, which loses no time. Calls
    of no length own none.
    """
    keep = ends > starts
    starts, ends, rows = starts[keep], ends[keep], rows[keep]
    count = len(starts)
    if not count:
        return Segments(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
    times = np.concatenate((starts, ends))
    # Small types: at millions of calls these arrays are what the whole program needs most memory for.
    opens = np.repeat(np.array([1, 0], np.int8), count)
    call = np.tile(np.arange(count, dtype=np.int32), 2)
    # At one instant: ends before starts, inner ends before outer ones, outer starts before inner ones.
    order = np.lexsort((np.concatenate((starts - ends, ends - starts)), opens, times))
    times, opens, call = times[order], opens[order], call[order]
    depth = np.cumsum(opens * np.int8(2) - np.int8(1), dtype=np.int32)
    owner = _owner_by_depth(depth, opens == 1, call)
    following = np.concatenate((times[1:], times[-1:]))
    real = following > times
    return Segments(times[real], following[real], np.where(owner[real] == NOBODY, NOBODY, rows[owner[real]]))


def _owner_by_depth(depth: NDArray[np.int32], opened: NDArray[np.bool_], call: NDArray[np.int32]) -> NDArray[np.int32]:
    """The call on top of the stack after each boundary.

    After a start it is that call. After an end that leaves depth d it is the call that last raised the depth to d:
    the latest start among the boundaries with depth d, found by a running maximum within each depth.
    """
    order = np.argsort(depth, kind="stable")
    position = np.where(opened[order], np.arange(len(order), dtype=np.int32), np.int32(NOBODY))
    latest = np.maximum.accumulate(position)
    first_of_depth = np.searchsorted(depth[order], depth[order], side="left")
    latest = np.where(latest >= first_of_depth, latest, NOBODY)
    owner = np.empty(len(order), np.int32)
    owner[order] = np.where(latest == NOBODY, NOBODY, call[order][latest])
    owner[depth <= 0] = NOBODY
    return owner


def time_by_owner(stack: Segments, pieces: Intervals) -> dict[int, int]:
    """Nanoseconds of ``pieces`` that each owner covers; NOBODY has what no call covers."""
    if not len(pieces.starts):
        return {}
    if not len(stack.starts):
        return {NOBODY: pieces.total_ns}
    edges = distinct(stack.starts, stack.ends[-1:], *pieces)
    lo, length = edges[:-1], np.diff(edges)
    piece = np.searchsorted(pieces.starts, lo, side="right") - 1
    wanted = (piece >= 0) & (lo < pieces.ends[np.maximum(piece, 0)])
    lo, length = lo[wanted], length[wanted]
    index = np.searchsorted(stack.starts, lo, side="right") - 1
    inside = (index >= 0) & (lo < stack.ends[np.maximum(index, 0)])
    owner = np.where(inside, stack.owner[np.maximum(index, 0)], NOBODY)
    owners, inverse = np.unique(owner, return_inverse=True)
    sums = np.zeros(len(owners), np.int64)
    np.add.at(sums, inverse, length)
    return dict(zip(owners.tolist(), sums.tolist(), strict=True))
