"""``diagtool profile``: diagnose a trace."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from diagtool.cli.streams import until_the_reader_leaves
from diagtool.errors import UsageError

WINDOW_HELP = "What shares refer to: device (first to last device event) or steps (the step marks)."


def profile(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="TARGET", help="A trace (.json, .json.gz), several, or a directory of rank traces."),
    ] = None,
    window: Annotated[str | None, typer.Option("--window", metavar="KIND", help=WINDOW_HELP)] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="[FORMAT:]PATH", help="Write a report; repeatable; - is stdout."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Only JSON on stdout, as -o json:-.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")] = False,
    redact: Annotated[
        bool | None, typer.Option("--redact/--no-redact", help="Leave file names, paths and hosts out.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")] = False,
) -> None:
    """Say where the time of a trace went, why, and what to change."""
    from diagtool import config, reports
    from diagtool.units import nearest
    from diagtool.workflows.targets import diagnose_targets, resolve

    settings = config.load()
    kind = settings.window if window is None else window
    if kind not in config.WINDOWS:
        raise UsageError(f"--window is {kind!r}", nearest(kind, config.WINDOWS))
    if not targets:
        raise UsageError("profile needs a TARGET", "give a trace: diagtool profile trace.json.gz")
    paths = resolve(targets)
    wanted = reports.parse_outputs([*(["json:-"] if as_json else []), *(outputs or [])], force=force, inputs=paths)
    if not any(output.path == reports.STDOUT for output in wanted):
        wanted = [*reports.parse_outputs(["-"]), *wanted]
    with _progress(not quiet and not as_json) as on_progress:
        hidden = settings.redact if redact is None else redact
        diagnosis = diagnose_targets(paths, window=kind, redacted=hidden, on_progress=on_progress)
    with until_the_reader_leaves():
        for path in reports.write(diagnosis, wanted):
            if not quiet:
                typer.echo(f"Wrote {Path(path)}", err=True)


@contextmanager
def _progress(wanted: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr while a file is read; only on a terminal, and gone when the report appears."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)
