"""Errors a user can cause, each with the way out, and the exit codes they end in.

Every class has a ``slug``: the name of its page under docs/reference/errors, which ``diagtool explain`` prints.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells the shell. One meaning each, the same for every command."""

    DONE = 0
    CHECK_FAILED = 1
    USAGE = 2
    NO_VERDICT = 3
    UNREADABLE = 4
    INTERNAL = 5
    WORKLOAD_FAILED = 6
    INTERRUPTED = 130


class DiagtoolError(Exception):
    """A mistake in what we were given, with what to do about it. Never shown with a traceback."""

    slug = "error"
    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(DiagtoolError):
    """An argument that makes no sense: an unknown name, a missing target, an output that exists."""

    slug = "usage"
    exit_code = ExitCode.USAGE


class ConfigError(DiagtoolError):
    """A setting in pyproject.toml or the environment that is unknown or has a wrong value."""

    slug = "configuration"
    exit_code = ExitCode.USAGE


class TargetNotFound(DiagtoolError):
    """A TARGET that is neither a path nor a name we know."""

    slug = "target-not-found"
    exit_code = ExitCode.USAGE


class UnreadableInput(DiagtoolError):
    """A file from which nothing can be read: empty, cut before the first event, not what it should be."""

    slug = "unreadable-input"
    exit_code = ExitCode.UNREADABLE


class UnsupportedFormat(DiagtoolError):
    """A file whose format is known, or not, but which holds no timeline this command can read."""

    slug = "unsupported-format"
    exit_code = ExitCode.UNREADABLE


class OutputFailed(DiagtoolError):
    """A report that could not be written."""

    slug = "output-failed"
    exit_code = ExitCode.USAGE


ERRORS: tuple[type[DiagtoolError], ...] = (
    UsageError,
    ConfigError,
    TargetNotFound,
    UnreadableInput,
    UnsupportedFormat,
    OutputFailed,
)
