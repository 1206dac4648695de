"""The scope that options and settings ask for, checked before anything slow begins."""

import re

from diagtool.config import WINDOWS, Config
from diagtool.errors import UsageError
from diagtool.hardware.peaks import Peaks, given
from diagtool.model_shapes import load
from diagtool.scope import Scope
from diagtool.units import nearest

_RANGE = re.compile(r"(-?\d{1,9})?(:)?(-?\d{1,9})?")


def scope_of(
    settings: Config,
    *,
    window: str | None = None,
    steps: str | None = None,
    rank: int | None = None,
    device: int | None = None,
    model: str | None = None,
    peak: str | None = None,
) -> Scope:
    """The scope of a command line; an option that is None is that of the settings. UsageError names what is wrong."""
    kind = settings.window if window is None else window
    if kind not in WINDOWS:
        raise UsageError(f"--window is {kind!r}", nearest(kind, WINDOWS))
    shapes = settings.model if model is None else model
    return Scope(
        window=kind,
        rank=rank,
        device=device,
        steps=None if steps is None else _range(steps),
        peaks=_peaks(settings.peak if peak is None else peak),
        model=load(shapes) if shapes else None,
    )


def _range(text: str) -> tuple[int | None, int | None]:
    """``5:10``, ``5:``, ``:10``, ``-3:`` as in a Python slice; ``5`` is that step alone."""
    found = _RANGE.fullmatch(text.strip())
    if not found or not (found[1] or found[2]):
        raise UsageError(f"--steps is {text!r}", "give a range of positions counted from 0: 5:10, 5:, :10 or 5")
    first, last = (None if part is None else int(part) for part in (found[1], found[3]))
    if found[2]:
        return first, last
    return first, None if first == -1 else (first or 0) + 1


def _peaks(text: str) -> Peaks | None:
    if not text:
        return None
    try:
        return given(text)
    except ValueError as error:
        raise UsageError(f"--peak: {error}") from error
