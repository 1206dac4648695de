"""Interval arithmetic against a bitmap of single nanoseconds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diagtool import intervals
from diagtool.intervals import Intervals

SIZE = 60
pairs = st.lists(st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(sorted), max_size=12)


def made(spans: list[list[int]]) -> Intervals:
    return intervals.union([a for a, _ in spans], [b for _, b in spans])


def bitmap(spans: list[list[int]]) -> np.ndarray:
    bits = np.zeros(SIZE, bool)
    for a, b in spans:
        bits[a:b] = True
    return bits


def bits_of(found: Intervals) -> np.ndarray:
    assert (found.starts < found.ends).all()
    assert (found.ends[:-1] < found.starts[1:]).all()
    return bitmap(list(zip(found.starts.tolist(), found.ends.tolist(), strict=True)))


@given(pairs)
def test_union_covers_what_any_covers(spans):
    assert (bits_of(made(spans)) == bitmap(spans)).all()
    assert made(spans).total_ns == bitmap(spans).sum()


@given(pairs, pairs)
def test_set_operations(one, other):
    a, b = bitmap(one), bitmap(other)
    assert (bits_of(intervals.intersect(made(one), made(other))) == (a & b)).all()
    assert (bits_of(intervals.subtract(made(one), made(other))) == (a & ~b)).all()
    assert (bits_of(intervals.join(made(one), made(other))) == (a | b)).all()


@given(pairs, st.integers(0, SIZE), st.integers(0, SIZE))
def test_clip_and_complement(spans, first, last):
    inside = np.zeros(SIZE, bool)
    inside[first:last] = True
    assert (bits_of(intervals.clip(made(spans), first, last)) == (bitmap(spans) & inside)).all()
    assert (bits_of(intervals.complement(made(spans), first, last)) == (~bitmap(spans) & inside)).all()


@given(pairs, pairs)
def test_covered_between_counts_each_pair(spans, queries):
    lo, hi = [a for a, _ in queries], [b for _, b in queries]
    expected = [int(bitmap(spans)[a:b].sum()) for a, b in queries]
    assert intervals.covered_between(made(spans), lo, hi).tolist() == expected


@given(pairs)
def test_contains_each_point(spans):
    assert intervals.contains(made(spans), np.arange(SIZE)).tolist() == bitmap(spans).tolist()


def test_merging_twice_is_merging_once():
    once = made([[0, 5], [3, 9], [9, 12], [20, 21]])
    assert [list(x) for x in intervals.union(*once)] == [list(x) for x in once] == [[0, 20], [12, 21]]
