"""``diagtool explain``: the page of a cause, metric, analysis or error."""

import sys
from typing import Annotated

import typer


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

    if name is None:
        known = pages.names()
        for kind in dict.fromkeys(known.values()):
            typer.echo(f"{kind}:")
            for word in (word for word, its in known.items() if its == kind):
                typer.echo(f"  {word}")
        return
    text = pages.page(name)
    if not sys.stdout.isatty():
        typer.echo(text.rstrip())
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(Markdown(text), width=min(console.width, 100))
