"""What happens to our output at its other end."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from diagtool.errors import OutputFailed


@contextmanager
def until_the_reader_leaves() -> Iterator[None]:
    """Write to stdout; a reader that has seen enough (``| head``) is no error, a full disk is."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would complain when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OutputFailed(f"cannot write to stdout: {error.strerror or error}", "write to a file: -o PATH") from error


def open_standard_streams() -> None:
    """Give a process that was started without stdout or stderr something to write to."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115


@contextmanager
def progress(wanted: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr while a file is read; only on a terminal, and gone when the report appears."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)
