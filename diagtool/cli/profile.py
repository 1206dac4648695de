"""``diagtool profile``: diagnose a trace."""

from typing import Annotated

import typer

from diagtool.cli.options import AsJson, Force, Quiet, Redact, Window, say_written, wanted_outputs
from diagtool.cli.streams import progress, until_the_reader_leaves
from diagtool.errors import UsageError

OUTPUT_HELP = "Write a report; repeatable; - is stdout. A .csv or .parquet file holds the table it is named after."
MODEL_HELP = "The model that ran, for the roofline: a preset (qwen3-8b), or a config.json; ,tp=N shares it."
PEAK_HELP = "Peaks of the device in place of its datasheet's: bandwidth=3.35e12,bf16=989e12 (bytes/s, FLOP/s)."


def profile(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="TARGET", help="A trace (.json, .json.gz), several, or a directory of rank traces."),
    ] = None,
    window: Window = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="[FORMAT:]PATH", help=OUTPUT_HELP),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option("--steps", metavar="FIRST:LAST", help="Only these steps, counted from 0, LAST excluded."),
    ] = None,
    rank: Annotated[int | None, typer.Option("--rank", help="Only this rank.")] = None,
    device: Annotated[int | None, typer.Option("--device", help="Only this device.")] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME|FILE", help=MODEL_HELP)] = None,
    peak: Annotated[str | None, typer.Option("--peak", metavar="KEY=VALUE,...", help=PEAK_HELP)] = None,
    as_json: AsJson = False,
    force: Force = False,
    redact: Redact = None,
    quiet: Quiet = False,
) -> None:
    """Say where the time of a trace went, why, and what to change."""
    from diagtool import config, reports
    from diagtool.workflows.targets import diagnose_targets, resolve
    from diagtool.workflows.what_to_look_at import scope_of

    if not targets:
        raise UsageError("profile needs a TARGET", "give a trace: diagtool profile trace.json.gz")
    settings = config.load()
    scope = scope_of(settings, window=window, steps=steps, rank=rank, device=device, model=model, peak=peak)
    paths = resolve(targets)
    wanted = wanted_outputs(outputs, as_json=as_json, force=force, inputs=paths)
    with progress(not quiet and not as_json) as on_progress:
        hidden = settings.redact if redact is None else redact
        asked = any(option is not None for option in (window, steps, rank, device, model, peak))
        found = diagnose_targets(paths, scope, asked=asked, redacted=hidden, on_progress=on_progress)
    with until_the_reader_leaves():
        say_written(reports.write(found.diagnosis, wanted, timeline=found.timeline), quiet=quiet)
