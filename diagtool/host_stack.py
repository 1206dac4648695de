"""What a CPU thread was doing at each instant: the deepest of the nested calls that cover it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from diagtool.intervals import Intervals, Ns, boundaries

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
    opens = np.concatenate((np.ones(count, np.int64), np.zeros(count, np.int64)))
    call = np.concatenate((np.arange(count), np.arange(count)))
    length = np.concatenate((ends - starts, starts - ends))
    # At one instant: ends before starts, inner ends before outer ones, outer starts before inner ones.
    order = np.lexsort((-length, opens, times))
    times, opens, call = times[order], opens[order], call[order]
    depth = np.cumsum(np.where(opens == 1, 1, -1))
    owner = _owner_by_depth(depth, opens == 1, call)
    following = np.concatenate((times[1:], times[-1:]))
    real = following > times
    owner = np.where(owner[real] == NOBODY, NOBODY, rows[owner[real]])
    return Segments(times[real], following[real], owner)


def _owner_by_depth(depth: Ns, opened: NDArray[np.bool_], call: NDArray[Any]) -> NDArray[np.int64]:
    """The call on top of the stack after each boundary.

    After a start it is that call. After an end that leaves depth d it is the call that last raised the depth to d:
    the latest start among the boundaries with depth d, found by a running maximum within each depth.
    """
    order = np.argsort(depth, kind="stable")
    position = np.where(opened[order], np.arange(len(order)), NOBODY)
    latest = np.maximum.accumulate(position)
    first_of_depth = np.searchsorted(depth[order], depth[order], side="left")
    latest = np.where(latest >= first_of_depth, latest, NOBODY)
    owner = np.empty(len(order), np.int64)
    owner[order] = np.where(latest == NOBODY, NOBODY, call[order][latest])
    owner[depth <= 0] = NOBODY
    return owner


def time_by_owner(stack: Segments, pieces: Intervals) -> dict[int, int]:
    """Nanoseconds of ``pieces`` that each owner covers; NOBODY has what no call covers."""
    if not len(pieces.starts):
        return {}
    if not len(stack.starts):
        return {NOBODY: pieces.total_ns}
    edges = boundaries(stack.starts, stack.ends[-1:], *pieces)
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
