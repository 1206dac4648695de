"""Grouping against a dictionary."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diagtool.grouping import distinct, groups

numbers = st.integers(-(2**60), 2**60) | st.integers(0, 3)


@given(st.lists(st.tuples(numbers, numbers, st.integers(0, 2)), max_size=30))
def test_rows_of_each_combination(keys):
    columns = [np.array([key[side] for key in keys], np.int64) for side in range(3)]
    expected = {}
    for row, key in enumerate(keys):
        expected.setdefault(key, []).append(row)
    found = {key: rows.tolist() for key, rows in groups(*columns)}
    assert found == expected
    assert list(found) == sorted(expected)


@given(st.lists(numbers), st.lists(numbers))
def test_distinct_values_sorted(one, other):
    assert distinct(np.array(one, np.int64)).tolist() == sorted(set(one))
    assert distinct(np.array(one, np.int64), np.array(other, np.int64)).tolist() == sorted({*one, *other})
