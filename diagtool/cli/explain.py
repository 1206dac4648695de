"""``diagtool explain``: the page of a cause, metric, analysis or error."""

import sys
from typing import Annotated

import typer

from diagtool.cli.streams import until_the_reader_leaves


def _complete(incomplete: str) -> list[str]:
    from diagtool.workflows import pages

    return [name for name in pages.names() if name.startswith(incomplete)]


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A cause, metric, analysis or error; none lists them all.",
            autocompletion=_complete,
        ),
    ] = None,
) -> None:
    """Say what a cause, a metric, an analysis or an error means and what to do about it."""
    from diagtool.workflows import pages

    text = pages.index() if name is None else pages.page(name).rstrip()
    with until_the_reader_leaves():
        if name is None or not sys.stdout.isatty():
            sys.stdout.write(f"{text}\n")
            return
        from rich.console import Console
        from rich.markdown import Markdown

        console = Console()
        console.print(Markdown(text), width=min(console.width, 100))
