"""Time stamps are exact, whatever the shape of the number."""

from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diagtool.readers.stamps import LIMIT_NS, nanoseconds


def exact(token: str) -> int:
    return int((Decimal(token) * 1000).quantize(Decimal(1), ROUND_HALF_UP))


plain = st.builds(
    lambda whole, fraction: f"{whole}.{fraction}" if fraction else str(whole),
    st.integers(0, 2_000_000_000_000_000),
    st.text("0123456789", max_size=7),
)


@given(st.lists(plain, max_size=40))
def test_equal_to_decimal_arithmetic(tokens):
    values, usable = nanoseconds([token.encode() for token in tokens])
    assert values.tolist() == [exact(token) for token in tokens]
    assert usable.all()


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (b"1712151111375829.123", 1_712_151_111_375_829_123),
        (b'"12.25"', 12_250), (b'" 7 "', 7_000), (b"-3.5", -3_500), (b"1e3", 1_000_000), (b"1.5E-3", 2), (b"0", 0),
        (b"1e-400", 0), (b"0.0004", 0), (b"0.0005", 1), (b"-0.0004", 0),
    ],
)  # fmt: skip
def test_other_shapes(token, expected):
    values, usable = nanoseconds([token])
    assert (values.tolist(), usable.tolist()) == ([expected], [True])


@pytest.mark.parametrize(
    "token",
    [b"", b"null", b"true", b"NaN", b"Infinity", b"[1]", b"{}", b'"soon"', b"1.2.3", b"1e99", b"1e999999999",
     b"99999999999999999", b"4611686018427388", b'"\xff"', b'"1\\n2"', b'"1\n2"'],
)  # fmt: skip
def test_what_is_no_time_is_unusable_and_harms_no_other(token):
    values, usable = nanoseconds([b"1.5", token, b"2"])
    assert usable.tolist() == [True, False, True]
    assert values.tolist() == [1500, 0, 2000]
    assert abs(values).max() < LIMIT_NS


def test_nothing_in_nothing_out():
    values, usable = nanoseconds([])
    assert (len(values), len(usable)) == (0, 0)
