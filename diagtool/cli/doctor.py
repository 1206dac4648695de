"""``diagtool doctor``: what this machine can measure."""

import json
from dataclasses import asdict
from typing import Annotated

import typer


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Only JSON on stdout.")] = False) -> None:
    """Say what this machine can measure, why not the rest, and the fix."""
    from diagtool.workflows.doctor import examine

    checks = examine()
    if as_json:
        typer.echo(json.dumps({"schema": 1, "checks": [asdict(check) for check in checks]}, indent=1))
        return
    for check in checks:
        typer.echo(f"{check.state:<8} {check.name:<18} {check.found}")
        if check.fix:
            typer.echo(f"{'':<8} {'':<18} -> {check.fix}")
