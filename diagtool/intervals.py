"""Arithmetic of time intervals on integer nanoseconds, vectorised and exact.

An ``Intervals`` is disjoint, sorted and without empty members, so its length is a plain sum.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diagtool.grouping import distinct

Ns = NDArray[np.int64]


class Intervals(NamedTuple):
    """Disjoint half-open intervals [start, end) in ns, sorted, none empty."""

    starts: Ns
    ends: Ns

    @property
    def total_ns(self) -> int:
        """Summed length."""
        return int((self.ends - self.starts).sum())


EMPTY = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def union(starts: ArrayLike, ends: ArrayLike) -> Intervals:
    """Merge any intervals; empty ones vanish, touching ones join."""
    first, last = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    keep = first < last
    if not keep.any():
        return EMPTY
    first, last = first[keep], last[keep]
    order = np.argsort(first, kind="stable")
    first, reach = first[order], np.maximum.accumulate(last[order])
    opens = np.concatenate(([True], first[1:] > reach[:-1]))
    closes = np.concatenate((opens[1:], [True]))
    return Intervals(first[opens], reach[closes])


def join(*members: Intervals) -> Intervals:
    """Time covered by any of them."""
    return union(np.concatenate([m.starts for m in members]), np.concatenate([m.ends for m in members]))


def complement(covered: Intervals, start: int, end: int) -> Intervals:
    """The part of [start, end) that is not covered."""
    if start >= end:
        return EMPTY
    inside = clip(covered, start, end)
    edges_lo = np.concatenate(([start], inside.ends))
    edges_hi = np.concatenate((inside.starts, [end]))
    keep = edges_lo < edges_hi
    return Intervals(edges_lo[keep], edges_hi[keep])


def clip(members: Intervals, start: int, end: int) -> Intervals:
    """The part that lies in [start, end)."""
    first, last = np.maximum(members.starts, start), np.minimum(members.ends, end)
    keep = first < last
    return Intervals(first[keep], last[keep])


def subtract(members: Intervals, taken: Intervals) -> Intervals:
    """The part of ``members`` that ``taken`` does not cover."""
    if not len(members.starts) or not len(taken.starts):
        return members
    start, end = int(members.starts[0]), int(members.ends[-1])
    return intersect(members, complement(taken, start, end))


def intersect(one: Intervals, other: Intervals) -> Intervals:
    """Time covered by both."""
    if not len(one.starts) or not len(other.starts):
        return EMPTY
    # Each boundary of either opens a stretch; a stretch counts when it lies in a member of both.
    edges = distinct(*one, *other)
    lo, hi = edges[:-1], edges[1:]
    keep = contains(one, lo) & contains(other, lo)
    return union(lo[keep], hi[keep])


def contains(members: Intervals, points: ArrayLike) -> NDArray[np.bool_]:
    """For each point whether start <= point < end for some member."""
    at = np.asarray(points, np.int64)
    if not len(members.starts):
        return np.zeros(at.shape, np.bool_)
    index = np.searchsorted(members.starts, at, side="right") - 1
    inside: NDArray[np.bool_] = (index >= 0) & (at < members.ends[np.maximum(index, 0)])
    return inside


def covered_between(members: Intervals, lo: ArrayLike, hi: ArrayLike) -> Ns:
    """For each pair how much of [lo, hi) is covered; 0 where hi <= lo."""
    start, end = np.asarray(lo, np.int64), np.asarray(hi, np.int64)
    if not len(members.starts):
        return np.zeros(start.shape, np.int64)
    return np.where(end > start, _covered_before(members, end) - _covered_before(members, start), 0)


def _covered_before(members: Intervals, at: Ns) -> Ns:
    lengths = np.concatenate(([0], np.cumsum(members.ends - members.starts)))
    index = np.searchsorted(members.starts, at, side="right")
    last = np.maximum(index - 1, 0)
    overshoot = np.where(index > 0, np.maximum(members.ends[last] - at, 0), 0)
    covered: Ns = lengths[index] - overshoot
    return covered
