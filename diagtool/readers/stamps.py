"""Exact time stamps: the text of JSON numbers in microseconds to integer nanoseconds.

A float64 near 1.7e15 us steps by 0.25 us, so a stamp must never pass through one. Digits are added up as integers for
all tokens at once; the few tokens of another shape (strings, exponents, signs) go through Decimal.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Outside +-2**61 ns (73 years from 1970) nothing is a time stamp, and sums of three cannot overflow.
LIMIT_NS = 1 << 61

_NEWLINE, _DOT, _ZERO, _NINE = 10, 46, 48, 57
_MAX_DIGITS = 16
_FRACTION_SCALE = np.array([1000, 100, 10, 1], np.int64)


def nanoseconds(tokens: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Nanoseconds of JSON tokens in microseconds, and which of them are usable; 0 where one is not.

    ``tokens`` are bytes-like: ``b"1712151111.123"``, ``b'"12"'``, ``b""``. Sub-nanosecond digits round half up.
    """
    count = len(tokens)
    if not count:
        return np.empty(0, np.int64), np.empty(0, np.bool_)
    text = np.frombuffer(b"\n".join(tokens) + b"\n", np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    if len(ends) != count:  # a token with a line break in it: not a number, but the others are
        return _one_by_one(tokens)
    starts = np.concatenate(([0], ends[:-1] + 1))
    plain = ends > starts
    strange = ((text < _ZERO) | (text > _NINE)) & (text != _NEWLINE)
    point = ends.copy()
    marks = np.flatnonzero(strange)
    if len(marks):
        owner = np.searchsorted(ends, marks)
        is_dot = text[marks] == _DOT
        plain[owner[~is_dot]] = False
        dots, dot_owner = marks[is_dot], owner[is_dot]
        point[dot_owner[::-1]] = dots[::-1]
        plain[np.flatnonzero(np.bincount(dot_owner, minlength=count) > 1)] = False
    whole_digits = point - starts
    plain &= (whole_digits >= 1) & (whole_digits <= _MAX_DIGITS) & (point + 1 != ends)
    value = _digits(text, starts, whole_digits, plain)
    plain &= value < LIMIT_NS // 1000
    value *= 1000
    fraction_digits = np.maximum(ends - point - 1, 0)
    if len(marks):
        shown = np.minimum(fraction_digits, 3)
        value += _digits(text, point + 1, shown, plain) * _FRACTION_SCALE[shown]
        longer = plain & (fraction_digits > 3)
        value[longer] += text[point[longer] + 4] >= _ZERO + 5
    usable = plain.copy()
    for index in np.flatnonzero(~plain).tolist():
        exact = _decimal_ns(bytes(tokens[index]))
        if exact is not None:
            value[index], usable[index] = exact, True
        else:
            value[index] = 0
    return value, usable


def _digits(text: Any, starts: Any, lengths: Any, rows: Any) -> NDArray[np.int64]:
    value = np.zeros(len(starts), np.int64)
    longest = int(lengths[rows].max(initial=0))
    last = len(text) - 1
    for position in range(longest):
        digit = text[np.minimum(starts + position, last)].astype(np.int64) - _ZERO
        np.copyto(value, value * 10 + digit, where=rows & (position < lengths))
    return value


def _one_by_one(tokens: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    exact = [_decimal_ns(bytes(token)) for token in tokens]
    values = np.array([value or 0 for value in exact], np.int64)
    return values, np.array([value is not None for value in exact], np.bool_)


def _decimal_ns(token: bytes) -> int | None:
    try:
        value = Decimal(token.decode("ascii").strip().strip('"').strip())
    except (InvalidOperation, UnicodeDecodeError):
        return None
    # The exponent is looked at first: int(Decimal("1e999999999")) would fill the memory.
    if not value.is_finite() or value.adjusted() > 18:
        return None
    if value.adjusted() < -6:
        return 0
    ns = int((value * 1000).quantize(Decimal(1), ROUND_HALF_UP))
    return ns if abs(ns) < LIMIT_NS else None
