"""Rows by the values of some integer columns, vectorised: by device, by thread.

Everything sorts: np.unique hashes first, which at a million rows costs ten times as much, and with ``axis=0`` sorts
rows as structures.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def distinct(*values: Integers) -> Integers:
    """The distinct values of some arrays, sorted."""
    merged = np.sort(np.concatenate(values) if len(values) != 1 else values[0])
    keep = np.ones(len(merged), np.bool_)
    np.not_equal(merged[1:], merged[:-1], out=keep[1:])
    return merged[keep]


def groups(*columns: Integers) -> Iterator[tuple[tuple[int, ...], Integers]]:
    """(values, rows) of each combination of values that occurs, in order of the values; rows ascend."""
    if not len(columns[0]):
        return
    kinds = [distinct(column) for column in columns]
    code = np.zeros(len(columns[0]), np.int64)
    for column, kind in zip(columns, kinds, strict=True):
        code = code * len(kind) + np.searchsorted(kind, column)
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        yield tuple(int(column[rows[0]]) for column in columns), rows
