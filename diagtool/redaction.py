"""A diagnosis that may leave the house: no file names and no paths.

The profiler names its files after the host, and the names of Python calls hold the paths of their files. Of names that
the program itself chose (kernels, ranges, operators) only what looks like a path goes: nothing here can know what else
they say.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from diagtool.diagnosis import Diagnosis, from_dict, to_dict

if TYPE_CHECKING:
    from diagtool.timeline import Timeline

_PASSED_OVER = ", no trace:"
_SEPARATORS = re.compile(r"[/\\]")
# What can be part of a path, as far as it can be told from a name: not spaces, quotes and most brackets.
_TOKEN = re.compile(r"[^\s'\"<>|;{}\[\]`]+")
_PYTHON_CALL = re.compile(r"\.py\w?\(\d+\)")
# A drive, a scheme or a user at a host before the first separator: it goes with the path.
_BEFORE_PATH = re.compile(r"(?:[A-Za-z][\w+.-]{0,15}|[\w.+-]+@[\w.-]+):")
_OPENING = re.compile(r".*[=(,:]", re.DOTALL)


def redact(diagnosis: Diagnosis) -> Diagnosis:
    """The same diagnosis with input files numbered and every path in a text removed."""
    files = diagnosis.source.files
    numbered = [f"input-{n}{_ending(file)}" for n, file in enumerate(files, 1)]
    notes = [note.partition(_PASSED_OVER)[0] for note in diagnosis.source.notes]
    for file, new in zip(files, numbered, strict=True):
        for text in (file, PurePath(file).name):
            notes = [re.sub(rf"(?<![\w./\\-]){re.escape(text)}(?![\w-])", new, note) for note in notes]
    data = _without_paths(to_dict(diagnosis))
    data["source"] |= {"files": numbered, "notes": [without_paths(note) for note in notes]}
    for loss in data["source"]["lost"]:
        loss["detail"] = "" if loss["unit"] == "file" else loss["detail"]
    return from_dict(data)


def redact_timeline(timeline: "Timeline") -> "Timeline":
    """The same timeline with every path in a name removed."""
    frames: dict[str, Any] = {}
    for table, frame in timeline.frames().items():
        words = {
            str(column): frame[column].cat.rename_categories(_renamed(frame[column].cat.categories))
            for column in frame
            if str(frame[column].dtype) == "category"
        }
        frames[table] = frame.assign(**words)
    return replace(timeline, **frames)


def without_paths(text: str) -> str:
    """The text without directories and paths: of a Python call the file stays, all else becomes ``<path>``.

    A path is what begins at a root, a home, a drive, a scheme or a host, or has two separators or more. Linear in the
    length of the text.
    """
    if not _SEPARATORS.search(text):
        return text
    pieces, end, in_path = [], 0, False
    for found in _TOKEN.finditer(text):
        between = text[end : found.start()]
        # After a path with a space in it, what has a separator is its continuation.
        token, in_path = _cleaned(found[0], text[: found.start()][-1:], in_path and between == " ")
        pieces += [between, token]
        end = found.end()
    return "".join([*pieces, text[end:]])


def _cleaned(token: str, before: str, continues: bool) -> tuple[str, bool]:
    """A piece of a text without spaces, and whether it was a path. ``before`` is the character in front of it."""
    separators = [found.start() for found in _SEPARATORS.finditer(token)]
    if not separators or len(separators) == len(token):
        return token, False
    if call := _PYTHON_CALL.search(token):
        directories = [at for at in separators if at < call.start()]
        return token[directories[-1] + 1 if directories else 0 :], False
    first = token[: separators[0]]
    opening = _OPENING.match(first)
    start = 0 if _BEFORE_PATH.fullmatch(first) or not opening else opening.end()
    rooted = (not first[start:] and before != "]") or first[start:] in (".", "..") or first[start:].startswith("~")
    if rooted or continues or len(separators) > 1 or _BEFORE_PATH.fullmatch(first):
        return f"{token[:start]}<path>", True
    return token, False


def _renamed(words: Iterable[str]) -> list[str]:
    """The words without paths; those that have become equal are told apart by a number, as categories must be."""
    used: set[str] = set()
    found = []
    for word in words:
        clean = base = without_paths(str(word))
        number = 2
        while clean in used:
            clean, number = f"{base} [{number}]", number + 1
        used.add(clean)
        found.append(clean)
    return found


def _ending(file: str) -> str:
    return next((ending for ending in (".json.gz", ".json", ".gz") if file.endswith(ending)), "")


def _without_paths(value: Any) -> Any:
    if isinstance(value, str):
        return without_paths(value)
    if isinstance(value, dict):
        return {key: _without_paths(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_paths(item) for item in value]
    return value
