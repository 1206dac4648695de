"""``diagtool compare``: what changed between two captures."""

from pathlib import Path
from typing import Annotated

import typer

from diagtool.cli.profile import WINDOW_HELP
from diagtool.cli.streams import progress, until_the_reader_leaves
from diagtool.errors import ExitCode, UsageError

TARGET_HELP = "A trace, a directory of rank traces, or a diagnosis.json."


def compare(
    before: Annotated[str | None, typer.Argument(metavar="A", help=f"Before: {TARGET_HELP.lower()}")] = None,
    after: Annotated[str | None, typer.Argument(metavar="B", help=f"After: {TARGET_HELP.lower()}")] = None,
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
    """Say what changed from one capture to another, per unit of work; exit code 3 where they cannot be compared."""
    from diagtool import config, reports
    from diagtool.reports.comparisons import of_comparison
    from diagtool.units import nearest
    from diagtool.workflows.compare import compare_targets
    from diagtool.workflows.targets import resolve

    settings = config.load()
    if window is not None and window not in config.WINDOWS:
        raise UsageError(f"--window is {window!r}", nearest(window, config.WINDOWS))
    if before is None or after is None:
        raise UsageError("compare needs two TARGETs", "give two traces: diagtool compare before.json.gz after.json.gz")
    paths = resolve([before, after])
    texts = [*(["json:-"] if as_json else []), *(outputs or [])]
    wanted = reports.parse_outputs(texts, force=force, inputs=paths)
    if not any(output.path == reports.STDOUT for output in wanted):
        wanted = [*reports.parse_outputs(["-"]), *wanted]
    wanted = of_comparison(wanted)
    with progress(not quiet and not as_json) as on_progress:
        hidden = settings.redact if redact is None else redact
        comparison = compare_targets(paths, window, default=settings.window, redacted=hidden, on_progress=on_progress)
    with until_the_reader_leaves():
        for path in reports.write(comparison, wanted):
            if not quiet:
                typer.echo(f"Wrote {Path(path)}", err=True)
    if comparison.refused:
        raise typer.Exit(ExitCode.NO_VERDICT)
