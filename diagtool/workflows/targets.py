"""What a TARGET on the command line is, and its diagnosis."""

import json
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import msgspec

from diagtool.diagnosis import Diagnosis, check
from diagtool.errors import TargetNotFound, UnreadableInput
from diagtool.readers import read
from diagtool.readers.files import Progress, head
from diagtool.redaction import redact
from diagtool.run_analyses import diagnose

_DIAGNOSIS_START = b'{"schema":'


def resolve(targets: Sequence[str]) -> list[Path]:
    """The paths of the targets. TargetNotFound names the nearest one for each that does not exist."""
    paths = [Path(target).expanduser() for target in targets]
    for path in paths:
        if not _exists(path):
            raise TargetNotFound(f"no such file or directory: {path}", _nearest(path))
    return paths


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long for any file, or with a zero byte in it
        return False


def diagnose_targets(
    targets: Sequence[str], *, window: str = "device", redacted: bool = False, on_progress: Progress | None = None
) -> Diagnosis:
    """The diagnosis of one trace, of several, of a directory of rank traces, or a diagnosis.json read again."""
    paths = resolve(targets)
    if len(paths) == 1 and paths[0].is_file() and _is_diagnosis(paths[0]):
        found = _load(paths[0])
    else:
        found = diagnose(read(*paths, on_progress=on_progress), window=window)
    return redact(found) if redacted else found


def _is_diagnosis(path: Path) -> bool:
    start = b"".join(head(path, 4096).split())
    return start.startswith(_DIAGNOSIS_START) and b'"source":' in start


def _load(path: Path) -> Diagnosis:
    try:
        found = msgspec.convert(json.loads(path.read_text(encoding="utf-8")), Diagnosis)
        check(found)
        return found
    except (ValueError, TypeError, RecursionError) as error:
        raise UnreadableInput(f"{path}: a damaged diagnosis: {error}", "diagnose the trace again") from error


def _nearest(path: Path) -> str:
    parent = path.parent
    names = sorted(item.name for item in parent.iterdir()) if _exists(path.parent) and parent.is_dir() else []
    close = get_close_matches(path.name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {parent / close[0]}?"
    return "give a trace file or a directory of rank traces"
