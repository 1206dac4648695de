"""Numbers as text."""

import pytest

from diagtool import units


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "unknown"), (0.0, "0 ns"), (4e-9, "4 ns"), (9.996e-7, "1.00 us"), (1.5e-6, "1.50 us"),
        (0.08449, "84.49 ms"), (0.4933, "493.3 ms"), (0.9996, "1.00 s"), (1.732965, "1.73 s"), (-0.002, "-2.00 ms"),
    ],
)  # fmt: skip
def test_duration(seconds, text):
    assert units.duration_text(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "unknown"),
        (0.0, "0.0 %"),
        (0.00001, "< 0.1 %"),
        (0.8627, "86.3 %"),
        (0.99976, "> 99.9 %"),
        (1.0, "100.0 %"),
    ],
)
def test_percent_never_hides_what_is_there(share, text):
    assert units.percent_text(share) == text


def test_fraction_is_rounded_once():
    assert units.fraction(1, 3) == 1 / 3
    assert units.fraction(5, 0) is None
    assert units.fraction(10**18 + 1, 10**18 + 1) == 1.0


@pytest.mark.parametrize(
    ("value", "text"), [(None, "unknown"), (0, "0 B"), (1536, "1.50 KiB"), (3 * 2**40, "3.00 TiB")]
)
def test_bytes(value, text):
    assert units.bytes_text(value) == text


def test_words():
    assert units.plural(1, "event") == "1 event"
    assert units.plural(2345, "event") == "2,345 events"
    assert units.listing(["a"]) == "a"
    assert units.listing(["a", "b", "c"]) == "a, b and c"
    assert units.listing(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert units.nearest("host-bond", ["host-bound", "starved"]) == "did you mean host-bound?"
    assert units.nearest("x", ["b", "a"]) == "known: a, b"
