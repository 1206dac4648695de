"""``diagtool compare``: what changed between two captures."""

from typing import Annotated

import typer

from diagtool.cli.options import AsJson, Force, Quiet, Redact, Window, say_written, wanted_outputs
from diagtool.cli.streams import progress, until_the_reader_leaves
from diagtool.errors import ExitCode, UsageError

TARGET_HELP = "A trace, a directory of rank traces, or a diagnosis.json."


def compare(
    before: Annotated[str | None, typer.Argument(metavar="A", help=f"Before: {TARGET_HELP.lower()}")] = None,
    after: Annotated[str | None, typer.Argument(metavar="B", help=f"After: {TARGET_HELP.lower()}")] = None,
    window: Window = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="[FORMAT:]PATH", help="Write a report; repeatable; - is stdout."),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
    redact: Redact = None,
    quiet: Quiet = False,
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
    wanted = of_comparison(wanted_outputs(outputs, as_json=as_json, force=force, inputs=paths))
    with progress(not quiet and not as_json) as on_progress:
        hidden = settings.redact if redact is None else redact
        comparison = compare_targets(paths, window, default=settings.window, redacted=hidden, on_progress=on_progress)
    with until_the_reader_leaves():
        say_written(reports.write(comparison, wanted), quiet=quiet)
    if comparison.refused:
        raise typer.Exit(ExitCode.NO_VERDICT)
