"""Reports of a comparison, by the names and extensions of those of a diagnosis."""

from collections.abc import Sequence
from dataclasses import replace

from diagtool.errors import UsageError
from diagtool.reports import Output, Report
from diagtool.units import listing

COMPARISON_REPORTS: tuple[Report, ...] = (
    Report("terminal", ".txt", "diagtool.reports.comparison_terminal"),
    Report("json", ".json", "diagtool.reports.comparison_json"),
    Report("markdown", ".md", "diagtool.reports.comparison_markdown"),
)


def of_comparison(outputs: Sequence[Output]) -> list[Output]:
    """The same outputs, written by the reports of a comparison. UsageError for a format that has none."""
    known = {report.name: report for report in COMPARISON_REPORTS}
    for output in outputs:
        if output.report.name not in known:
            raise UsageError(
                f"a comparison has no {output.report.name} report",
                f"it has: {listing(list(known))}; name one: json:PATH",
            )
    return [replace(output, report=known[output.report.name]) for output in outputs]
