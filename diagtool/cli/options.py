"""Options that mean the same in every command that reads captures and writes reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from diagtool.reports import Output

WINDOW_HELP = "What shares refer to: device (first to last device event) or steps (the step marks)."

Window = Annotated[str | None, typer.Option("--window", metavar="KIND", help=WINDOW_HELP)]
AsJson = Annotated[bool, typer.Option("--json", help="Only JSON on stdout, as -o json:-.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")]
Redact = Annotated[bool | None, typer.Option("--redact/--no-redact", help="Leave file names, paths and hosts out.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")]


def wanted_outputs(
    given: Sequence[str] | None, *, as_json: bool, force: bool, inputs: Sequence[Path]
) -> "list[Output]":
    """The outputs a command line asks for; the terminal's report where none of them is stdout."""
    from diagtool import reports

    texts = [*(["json:-"] if as_json else []), *(given or [])]
    wanted = reports.parse_outputs(texts, force=force, inputs=inputs)
    if any(output.path == reports.STDOUT for output in wanted):
        return wanted
    return [*reports.parse_outputs(["-"]), *wanted]


def say_written(paths: Sequence[str], *, quiet: bool) -> None:
    """Name the files that were written, on stderr."""
    for path in () if quiet else paths:
        typer.echo(f"Wrote {Path(path)}", err=True)
