"""The comparison of two targets: each is read and diagnosed as ``profile`` would do it."""

from collections.abc import Sequence
from pathlib import Path

from diagtool.comparison import Comparison, compare
from diagtool.config import WINDOWS
from diagtool.readers.files import Progress
from diagtool.scope import Scope
from diagtool.workflows.targets import diagnose_targets, is_diagnosis


def compare_targets(
    paths: Sequence[Path],
    window: str | None,
    *,
    default: str = WINDOWS[0],
    redacted: bool = False,
    on_progress: Progress | None = None,
) -> Comparison:
    """The comparison of two targets: a trace, a directory of rank traces, or a diagnosis.json each.

    A diagnosis.json keeps the window it was made with. Where ``window`` is None, a trace is given that of the
    diagnosis.json beside it, or else the ``default``.
    """
    found = {
        path: diagnose_targets([path], redacted=redacted).diagnosis
        for path in paths
        if path.is_file() and is_diagnosis(path)
    }
    kinds = [saved.window.kind for saved in found.values() if saved.window and saved.window.kind in WINDOWS]
    scope = Scope(window=window or (kinds[0] if kinds else default))
    for path in paths:
        if path not in found:
            found[path] = diagnose_targets([path], scope, redacted=redacted, on_progress=on_progress).diagnosis
    before, after = paths
    return compare(found[before], found[after])
