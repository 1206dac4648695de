"""A typer program with two commands that do nothing: the least that ``--help`` can cost."""

import typer

app = typer.Typer(help="An empty program.", no_args_is_help=True)


@app.command()
def one() -> None:
    """The first command."""


@app.command()
def two() -> None:
    """The second command."""


if __name__ == "__main__":
    app()
