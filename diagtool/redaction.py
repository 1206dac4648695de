"""A diagnosis that may leave the house: no paths, file names or text that names a machine or a user."""

import re
from pathlib import PurePath
from typing import Any

from diagtool.diagnosis import Diagnosis, from_dict, to_dict

# The directories of a path, absolute or below a home: what remains is the file.
_DIRECTORIES = re.compile(r"(?:[A-Za-z]:)?(?:(?<![\w.])|(?<=~))[/\\](?:[^/\\\s():'\"<>]+[/\\])+")


def redact(diagnosis: Diagnosis) -> Diagnosis:
    """The same diagnosis with input files numbered and directories removed from every text.

    The profiler names its files after the host, so names go too; their extension stays.
    """
    data = _without_directories(to_dict(diagnosis))
    names = {}
    for number, file in enumerate(diagnosis.source.files, 1):
        names[PurePath(file).name] = f"input-{number}{''.join(PurePath(file).suffixes[-2:])}"
    data["source"]["files"] = list(names.values())
    for loss in data["source"]["lost"]:
        loss["detail"] = _renamed(loss["detail"], names)
    data["source"]["notes"] = [_renamed(note, names).partition(", no trace:")[0] for note in data["source"]["notes"]]
    return from_dict(data)


def _renamed(text: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        text = text.replace(old, new)
    return text


def _without_directories(value: Any) -> Any:
    if isinstance(value, str):
        return _DIRECTORIES.sub("", value)
    if isinstance(value, dict):
        return {key: _without_directories(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_directories(item) for item in value]
    return value
