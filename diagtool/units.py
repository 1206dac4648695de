"""Base units, and the only functions that turn a number into text.

Tables hold integer nanoseconds, results hold float seconds, bytes, bytes/s and fractions.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from fractions import Fraction

NS_PER_S = 1_000_000_000

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]+"
)


def seconds(ns: int | float) -> float:
    """Seconds of a number of nanoseconds."""
    return float(ns) / NS_PER_S


def fraction(part: int, whole: int) -> float | None:
    """part / whole rounded once, so that shares of one whole sum to 1 as floats do; None when whole is 0."""
    return float(Fraction(int(part), int(whole))) if whole else None


def duration_text(value_s: float | None) -> str:
    """Time in the unit a reader would choose: ``84.49 ms``, ``1.73 s``, ``2.0 us``; ``unknown`` for None."""
    if value_s is None:
        return "unknown"
    size = abs(value_s)
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if size * scale >= 0.9995:
            return f"{value_s * scale:.{_decimals(size * scale)}f} {unit}"
    return f"{value_s * 1e9:.0f} ns"


def percent_text(share: float | None) -> str:
    """A fraction as percent with one decimal; what is not zero is never shown as ``0.0 %``."""
    if share is None:
        return "unknown"
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return f"{share * 100:.1f} %"


def count_text(value: int) -> str:
    """An integer with thousands separated: ``24,656``."""
    return f"{value:,}"


def bytes_text(value: float | None) -> str:
    """Bytes in binary units: ``1.50 GiB``."""
    if value is None:
        return "unknown"
    size = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.{_decimals(abs(size))}f} {unit}"
        size /= 1024
    return f"{size:.2f} TiB"


def printable(text: str) -> str:
    """Text on one line: control and invisible characters, which could steer a terminal, become a space."""
    return _UNPRINTABLE.sub(" ", text)


def plural(count: int, noun: str) -> str:
    """``1 event``, ``2,345 events``."""
    return f"{count_text(count)} {noun}{'' if count == 1 else 's'}"


def listing(names: Sequence[str], most: int = 3) -> str:
    """``a``, ``a and b``, ``a, b and 4 more``."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def nearest(name: str, known: Sequence[str]) -> str:
    """A hint that names the known word closest to a mistyped one, or all of them."""
    close = get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]}?"
    return f"known: {', '.join(sorted(known)[:12])}{', ...' if len(known) > 12 else ''}"


def _decimals(size: float) -> int:
    return 2 if size < 100 else 1
