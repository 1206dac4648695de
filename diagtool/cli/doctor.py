"""``diagtool doctor``: what this machine can measure."""

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from diagtool.cli.streams import until_the_reader_leaves


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Only JSON on stdout.")] = False) -> None:
    """Say what this machine can measure, why not the rest, and the fix."""
    from diagtool.workflows.doctor import examine

    checks = examine()
    with until_the_reader_leaves():
        if as_json:
            sys.stdout.write(json.dumps({"schema": 1, "checks": [asdict(check) for check in checks]}, indent=1) + "\n")
            return
        for check in checks:
            sys.stdout.write(f"{check.state:<8} {check.name:<18} {check.found}\n")
            if check.fix:
                sys.stdout.write(f"{'':<8} {'':<18} -> {check.fix}\n")
