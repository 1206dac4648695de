"""Which call is deepest, against a walk over single nanoseconds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diagtool import host_stack, intervals

SIZE = 40


@st.composite
def nested_calls(draw, low=0, high=SIZE, depth=0):
    """Calls that nest, as (start, end) pairs, parents before children."""
    calls = []
    at = low
    while at < high and len(calls) < 6:
        start = draw(st.integers(at, high))
        end = draw(st.integers(start, high))
        if end > start:
            calls.append((start, end))
            if depth < 3 and draw(st.booleans()):
                calls += draw(nested_calls(start, end, depth + 1))
        at = max(end, at + 1)
    return calls


def deepest_at(calls, time):
    covering = [index for index, (start, end) in enumerate(calls) if start <= time < end]
    return max(covering, key=lambda index: (calls[index][0], -calls[index][1], index), default=-1)


def stack_of(calls):
    starts, ends = (np.array([call[side] for call in calls], np.int64) for side in (0, 1))
    return host_stack.segments(starts, ends, np.arange(len(calls)))


@given(nested_calls())
def test_deepest_call_at_every_instant(calls):
    stack = stack_of(calls)
    found = np.full(SIZE, -1)
    for start, end, owner in zip(*stack, strict=True):
        found[start:end] = owner
    for time in range(SIZE):
        expected = deepest_at(calls, time)
        # Two calls with the same span are one place: either may be called the deeper.
        assert found[time] == expected or calls[found[time]] == calls[expected]


@given(nested_calls(), st.lists(st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(sorted), max_size=6))
def test_no_time_is_lost_or_counted_twice(calls, spans):
    pieces = intervals.union([a for a, _ in spans], [b for _, b in spans])
    times = host_stack.time_by_owner(stack_of(calls), pieces)
    assert sum(times.values()) == pieces.total_ns
    assert all(ns > 0 for ns in times.values())


@given(st.lists(st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(sorted), max_size=12))
def test_overlap_without_nesting_loses_no_time(calls):
    everything = intervals.union([0], [SIZE])
    assert sum(host_stack.time_by_owner(stack_of(calls), everything).values()) == SIZE
