"""Rewrites what the docs take from the code: the CLI reference, the metrics page and every console block."""

import os
import re
import subprocess
import sys
from pathlib import Path

from diagtool.metrics import METRICS
from diagtool.workflows.pages import metric_page

ROOT = Path(__file__).resolve().parents[2]
CLI = ROOT / "docs/reference/cli.md"
METRICS_PAGE = ROOT / "docs/reference/metrics.md"
PAGES_WITH_CONSOLE = tuple(path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if path != CLI)

_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
_ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("DIAGTOOL_")} | {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "COLUMNS": "80",
    "NO_COLOR": "1",
    "_TYPER_FORCE_DISABLE_TERMINAL": "1",
}


def shell(command: str) -> str:
    """What a command prints, run at the root of the checkout."""
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, env=_ENVIRONMENT, check=False
    )
    return done.stdout + done.stderr


def cli_reference() -> str:
    """The reference page of all commands."""
    text = shell("typer diagtool.cli.app utils docs --name diagtool")
    codes = (
        "## Exit codes\n\n"
        "0 done: findings, salvaged input and a trace without device work included;\n"
        "2 usage, configuration or a missing package; 3 no verdict: two captures that cannot be compared;\n"
        "4 unreadable input; 5 internal error; 130 interrupted.\n"
        "Kept for commands to come: 1 a check failed, 6 the workload failed.\n"
    )
    return f"{text.rstrip()}\n\n{codes}"


def metrics_reference() -> str:
    """The page of all metrics."""
    pages = (metric_page(spec).replace("# ", "## ", 1) for spec in METRICS.values())
    head = (
        "# Metrics\n\nLabels: `device` and `rank`. Values are in base units; an unknown value is null with a reason.\n"
    )
    return "\n".join([head, *pages])


def with_fresh_output(page: str) -> str:
    """A page with the output of each command of its console blocks as it is now."""

    def fresh(match: re.Match[str]) -> str:
        commands = [line[2:] for line in match[1].splitlines() if line.startswith("$ ")]
        return "```console\n" + "\n".join(f"$ {command}\n{shell(command)}" for command in commands) + "```"

    return _BLOCK.sub(fresh, page)


def main() -> None:
    """Write everything."""
    CLI.write_text(cli_reference())
    METRICS_PAGE.write_text(metrics_reference())
    for path in PAGES_WITH_CONSOLE:
        path.write_text(with_fresh_output(path.read_text()))


if __name__ == "__main__":
    main()
