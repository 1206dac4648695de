"""The typer application and ``main``, which turns errors into exit codes."""

import sys
import traceback
from typing import Annotated

import typer

from diagtool import __version__
from diagtool.cli.compare import compare
from diagtool.cli.doctor import doctor
from diagtool.cli.explain import explain
from diagtool.cli.profile import profile
from diagtool.cli.streams import open_standard_streams
from diagtool.errors import DiagtoolError, ExitCode
from diagtool.units import printable

app = typer.Typer(
    name="diagtool",
    help="Says why GPU inference is slow: where the time went, the cause, what it costs and what to change.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: diagtool profile trace.json.gz",
)
app.command(epilog="Example: diagtool profile trace.json.gz -o diagnosis.json")(profile)
app.command(epilog="Example: diagtool compare before.json.gz after.json.gz -o change.md")(compare)
app.command(epilog="Example: diagtool explain host-bound")(explain)
app.command(epilog="Example: diagtool doctor")(doctor)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"diagtool {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. Exit codes are those of errors.ExitCode."""
    open_standard_streams()
    try:
        app()
    except DiagtoolError as error:
        typer.echo(f"error: {printable(error.message)}", err=True)
        if error.hint:
            typer.echo(f"hint: {printable(error.hint)}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except Exception:
        traceback.print_exc()
        typer.echo("error: this is a bug in diagtool; please report it with the lines above", err=True)
        sys.exit(ExitCode.INTERNAL)
