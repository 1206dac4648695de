"""What a TARGET on the command line is, and its diagnosis."""

import json
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import msgspec

from diagtool.diagnosis import Diagnosis, check
from diagtool.errors import TargetNotFound, UnreadableInput, UsageError
from diagtool.readers import read
from diagtool.readers.files import Losses, Progress, blocks, head
from diagtool.redaction import redact, redact_timeline
from diagtool.run_analyses import diagnose
from diagtool.scope import WHOLE, Scope, choose
from diagtool.timeline import Timeline

_DIAGNOSIS_START = b'{"schema":'


def resolve(targets: Sequence[str]) -> list[Path]:
    """The paths of the targets. TargetNotFound names the nearest one for each that does not exist."""
    paths = [_expanded(target) for target in targets]
    for path in paths:
        if not _exists(path):
            raise TargetNotFound(f"no such file or directory: {path}", _nearest(path))
    return paths


def _expanded(target: str) -> Path:
    if not target:
        raise TargetNotFound("an empty TARGET", "give a trace file or a directory of rank traces")
    try:
        return Path(target).expanduser()
    except RuntimeError:  # ~somebody who is unknown here
        return Path(target)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long for any file, or with a zero byte in it
        return False


class Diagnosed(NamedTuple):
    """A diagnosis and the timeline it is of; a diagnosis.json read again has none."""

    diagnosis: Diagnosis
    timeline: Timeline | None


def diagnose_targets(
    paths: Sequence[Path],
    scope: Scope = WHOLE,
    *,
    asked: bool = False,
    redacted: bool = False,
    on_progress: Progress | None = None,
) -> Diagnosed:
    """The diagnosis of one trace, of several, of a directory of rank traces, or a diagnosis.json read again.

    ``asked``: the user asked for the scope, rather than the settings. UsageError where it is asked of a
    diagnosis.json: that is finished.
    """
    if len(paths) == 1 and paths[0].is_file() and is_diagnosis(paths[0]):
        if asked:
            raise UsageError(f"{paths[0]} is a diagnosis, nothing of it can be chosen", "diagnose the trace again")
        found = Diagnosed(_load(paths[0]), None)
    else:
        timeline = read(*paths, on_progress=on_progress)
        found = Diagnosed(diagnose(timeline, scope), choose(timeline, scope))
    if not redacted:
        return found
    return Diagnosed(redact(found.diagnosis), redact_timeline(found.timeline) if found.timeline else None)


def is_diagnosis(path: Path) -> bool:
    """Whether a file begins as a diagnosis.json does."""
    start = b"".join(head(path, 4096).split())
    return start.startswith(_DIAGNOSIS_START) and b'"source":' in start


def _load(path: Path) -> Diagnosis:
    try:
        text = b"".join(blocks(path, Losses())).decode()
        found = msgspec.convert(json.loads(text, parse_constant=_refused), Diagnosis)
        check(found)
        return found
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableInput(f"{path}: a damaged diagnosis: {error}", "diagnose the trace again") from error


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _nearest(path: Path) -> str:
    parent = path.parent
    try:
        names = sorted(item.name for item in parent.iterdir())
    except (OSError, ValueError):
        names = []
    close = get_close_matches(path.name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {parent / close[0]}?"
    return "give a trace file or a directory of rank traces"
