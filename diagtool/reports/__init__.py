"""Reports: a Diagnosis to text. Adding one is a file with ``render`` and a line in REPORTS."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from diagtool.errors import OutputFailed, UsageError
from diagtool.units import nearest

if TYPE_CHECKING:
    from diagtool.comparison import Comparison
    from diagtool.diagnosis import Diagnosis
    from diagtool.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Report:
    """One output format; ``extension`` chooses it when a path names no format.

    ``module`` has ``render(diagnosis, out, timeline)`` and is loaded on use: rich alone takes as long as reading a
    small trace. ``of_table``: the module has ``write(diagnosis, path)`` instead, which writes the table that the file
    is named after.
    """

    name: str
    extension: str
    module: str
    of_table: bool = False

    def render(self, diagnosis: "Diagnosis | Comparison", out: TextIO, timeline: "Timeline | None" = None) -> None:
        """Write the report to an open text file; ``timeline`` is what a report that draws the events needs."""
        import_module(self.module).render(diagnosis, out, timeline)


REPORTS: tuple[Report, ...] = (
    Report("terminal", ".txt", "diagtool.reports.terminal"),
    Report("json", ".json", "diagtool.reports.json_text"),
    Report("html", ".html", "diagtool.reports.html"),
    Report("markdown", ".md", "diagtool.reports.markdown"),
    Report("csv", ".csv", "diagtool.reports.table_file", of_table=True),
    Report("parquet", ".parquet", "diagtool.reports.table_file", of_table=True),
)

STDOUT = "-"


@dataclass(frozen=True, slots=True)
class Output:
    """Where a report goes: ``-`` is stdout."""

    report: Report
    path: str


def parse_outputs(texts: Sequence[str], *, force: bool = False, inputs: Sequence[Path] = ()) -> list[Output]:
    """The outputs that ``[FORMAT:]PATH`` texts ask for, checked before anything slow begins.

    UsageError for an unknown format or extension, two reports on stdout, a missing folder, an output that is one of
    the ``inputs``, or a file that exists when ``force`` is not given.
    """
    outputs = [_parse(text) for text in texts]
    if sum(output.path == STDOUT for output in outputs) > 1:
        raise UsageError("two reports cannot share stdout", "write one of them to a file")
    paths = [Path(output.path) for output in outputs if output.path != STDOUT]
    resolved = [_resolved(path) for path in paths]
    given = {path.resolve() for path in inputs}
    for path, real in zip(paths, resolved, strict=True):
        if resolved.count(real) > 1:
            raise UsageError(f"two reports would be written to {path}", "give each a file of its own")
        if path.is_fifo():
            raise UsageError(f"{path} is a pipe", "write to a file, or to - and pipe that")
        if path.is_dir():
            raise UsageError(f"{path} is a directory", f"name a file in it: {path / 'diagnosis.json'}")
        if not path.parent.is_dir():
            raise UsageError(f"no such directory: {path.parent}", "create it first")
        if path.is_file() and given & {real, real.parent}:
            raise UsageError(f"{path} is the input", "write the report to another file")
        if path.is_file() and not force:
            raise UsageError(f"{path} exists", "give --force to replace it, or another name")
    return outputs


def write(
    diagnosis: "Diagnosis | Comparison",
    outputs: Sequence[Output],
    stdout: TextIO | None = None,
    timeline: "Timeline | None" = None,
) -> list[str]:
    """Write every report; the paths of the files written. OutputFailed when one cannot be.

    ``timeline`` is that of the diagnosis where it is at hand; a diagnosis read from its JSON has none.
    """
    for output in outputs:
        if output.report.of_table:  # before the first report appears
            import_module(output.report.module).check(diagnosis, Path(output.path))
    written = []
    for output in outputs:
        if output.path == STDOUT:
            output.report.render(diagnosis, stdout or sys.stdout, timeline)
            continue
        try:
            if output.report.of_table:
                import_module(output.report.module).write(diagnosis, Path(output.path))
            else:
                with Path(output.path).open("w", encoding="utf-8") as file:
                    output.report.render(diagnosis, file, timeline)
        except OSError as error:
            raise OutputFailed(
                f"cannot write {output.path}: {error.strerror or error}", "choose another path"
            ) from error
        written.append(output.path)
    return written


def _resolved(path: Path) -> Path:
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {str(path)[:80]}: {getattr(error, 'strerror', error)}") from error
    return path.resolve()


def _with_table(output: Output) -> Output:
    """The output; UsageError when it holds one table and nothing names it."""
    if output.report.of_table and not output.path.endswith(output.report.extension):
        example = f"kernels{output.report.extension}"
        raise UsageError(
            f"{output.report.name} holds one table, the one its file is named after", f"write -o {example}"
        )
    return output


def _parse(text: str) -> Output:
    named, separator, path = text.partition(":")
    known = {report.name: report for report in REPORTS}
    if separator and (named in known or (named.isalpha() and len(named) > 1 and not Path(text).exists())):
        if named not in known:
            raise UsageError(f"unknown report format {named!r}", nearest(named, list(known)))
        if not path:
            raise UsageError(f"{text!r} names no file", f"{named}:- is stdout")
        return _with_table(Output(known[named], path))
    if text == STDOUT:
        return Output(known["terminal"], STDOUT)
    for report in REPORTS:
        if text.endswith(report.extension):
            return _with_table(Output(report, text))
    extensions = ", ".join(report.extension for report in REPORTS)
    raise UsageError(
        f"no report format for {text!r}", f"use an extension of {extensions}, or name the format: json:{text}"
    )
