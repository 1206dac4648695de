"""A diagnosis that may leave the house: no file names and no paths.

The profiler names its files after the host, and the names of Python calls hold the paths of their files. Names that the
program itself chose (kernels, ranges, operators) stay: nothing here can know what they say.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from diagtool.diagnosis import Diagnosis, from_dict, to_dict

if TYPE_CHECKING:
    from diagtool.timeline import Timeline

# The directories before the file of a Python call: "pkg/file.py(12): function".
_PYTHON_FILE = re.compile(r"(?:[^\n:'\"]|(?<=^[A-Za-z]):)*[/\\](?=[^/\\\n]+\.py\w?\(\d+\))")
# A path, absolute, of a home, of a drive or upwards, that stands by itself.
_PATH = re.compile(
    r"(?:(?<=^)|(?<=[\s'\"=(,])|file:/?/?)(?:~|\.{1,2}|[A-Za-z]:)?[/\\](?:[^\s'\"(),:;]|(?<=[A-Za-z]):[/\\])+"
)
_PASSED_OVER = ", no trace:"


def redact(diagnosis: Diagnosis) -> Diagnosis:
    """The same diagnosis with input files numbered and every path in a text removed."""
    numbered, names = _numbered(diagnosis.source.files)
    data = _without_paths(to_dict(diagnosis), names)
    data["source"]["files"] = numbered
    data["source"]["notes"] = [note.partition(_PASSED_OVER)[0] for note in data["source"]["notes"]]
    for loss in data["source"]["lost"]:
        loss["detail"] = "" if loss["unit"] == "file" else loss["detail"]
    return from_dict(data)


def redact_timeline(timeline: "Timeline", files: Sequence[str]) -> "Timeline":
    """The same timeline with every path in a name removed; ``files`` are the input's."""
    _, names = _numbered(files)
    frames: dict[str, Any] = {}
    for table, frame in timeline.frames().items():
        words = {
            str(column): frame[column].cat.rename_categories(_renamed(frame[column].cat.categories, names))
            for column in frame
            if str(frame[column].dtype) == "category"
        }
        frames[table] = frame.assign(**words)
    return replace(timeline, **frames)


def _renamed(words: Iterable[str], names: dict[str, str]) -> list[str]:
    """The words without paths; those that have become equal are told apart by a number, as categories must be."""
    seen: dict[str, int] = {}
    found = []
    for word in words:
        clean = _without_paths(str(word), names)
        seen[clean] = seen.get(clean, 0) + 1
        found.append(clean if seen[clean] == 1 else f"{clean} [{seen[clean]}]")
    return found


def _numbered(files: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The names that stand for some files, and by what the files' own names are replaced in texts."""
    numbered = [f"input-{n}{_ending(file)}" for n, file in enumerate(files, 1)]
    return numbered, {
        text: new for file, new in zip(files, numbered, strict=True) for text in (file, PurePath(file).name)
    }


def _ending(file: str) -> str:
    return next((ending for ending in (".json.gz", ".json", ".gz") if file.endswith(ending)), "")


def _without_paths(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new)
        return _PATH.sub("<path>", _PYTHON_FILE.sub("", value))
    if isinstance(value, dict):
        return {key: _without_paths(item, names) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_paths(item, names) for item in value]
    return value
