"""Settings of ``[tool.diagtool]`` in the nearest pyproject.toml: flag > DIAGTOOL_* > file > default."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from diagtool.errors import ConfigError
from diagtool.units import nearest

WINDOWS = ("device", "steps")


@dataclass(frozen=True, slots=True)
class Config:
    """What a project sets once instead of typing it each time."""

    window: str = "device"
    """Which span the shares refer to: ``device`` (first to last device event) or ``steps`` (the step marks)."""

    model: str = ""
    """The model that was run, for the roofline: a preset, or the path of its config.json; ``,tp=N`` shares it."""

    peak: str = ""
    """What the device can do at most, in place of its datasheet's figures: ``bandwidth=3.35e12,bf16=989e12``."""

    redact: bool = False
    """Leave host names, users and paths out of every report."""


def load(start: Path | None = None, environment: Mapping[str, str] | None = None) -> Config:
    """The settings in force for a directory (the current one by default).

    Raises ConfigError for an unknown key, a wrong value or a pyproject.toml that is not TOML.
    """
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    try:
        path = _nearest_pyproject((start or Path.cwd()).resolve())
    except OSError:  # the directory is gone, or may not be looked at
        path = None
    if path is not None:
        values.update(_checked(_table(path), f"[tool.diagtool] in {path.name}"))
    for field in fields(Config):
        text = environment.get(f"DIAGTOOL_{field.name.upper()}")
        if text is not None:
            value: Any = _flag(field.name, text) if isinstance(field.default, bool) else text
            values.update(_checked({field.name: value}, f"DIAGTOOL_{field.name.upper()}"))
    return Config(**values)


def _nearest_pyproject(directory: Path) -> Path | None:
    for folder in (directory, *directory.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            return path
    return None


def _table(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}", "look at its permissions") from error
    if b"diagtool" not in text:  # another project's file, broken or not, is none of ours
        return {}
    try:
        tool = tomllib.loads(text.decode()).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path.name}: {error}", "correct the file, or run elsewhere") from error
    table = tool.get("diagtool", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError(f"[tool.diagtool] in {path.name} is not a table")
    return table


def _checked(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    known = {field.name: type(field.default) for field in fields(Config)}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"unknown key {key!r} in {where}", nearest(key, list(known)))
        if not isinstance(value, known[key]):
            raise ConfigError(f"{key} in {where} must be of type {known[key].__name__}, it is {value!r}")
    if "window" in table and table["window"] not in WINDOWS:
        raise ConfigError(f"window in {where} is {table['window']!r}", f"known: {', '.join(WINDOWS)}")
    return dict(table)


def _flag(name: str, text: str) -> bool:
    words = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    try:
        return words[text.lower()]
    except KeyError:
        raise ConfigError(f"DIAGTOOL_{name.upper()} is {text!r}", "use 1 or 0") from None
