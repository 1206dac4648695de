"""The comparison as Markdown for pull requests: verdict, what made the difference, the tables."""

from collections.abc import Iterator
from typing import TextIO

from diagtool.comparison import Comparison
from diagtool.reports import comparison_text
from diagtool.reports.comparison_text import Section
from diagtool.reports.markdown import code, prose


def render(comparison: Comparison, out: TextIO, timeline: object = None) -> None:
    """Write the report; what ``out`` cannot encode becomes a question mark."""
    encoding = getattr(out, "encoding", None) or "utf-8"
    text = "\n".join(_lines(comparison)) + "\n"
    out.write(text.encode(encoding, "replace").decode(encoding))


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"**{prose(comparison_text.verdict(comparison))}**"
    yield ""
    for side, capture in (("A", comparison.before), ("B", comparison.after)):
        file, *parts = comparison_text.looked_at(capture)
        yield f"* {side}: {code(file)}, {', '.join(prose(part) for part in parts)}"
    yield ""
    for sentence in comparison_text.explanation(comparison):
        yield f"* {prose(sentence)}"
    for section in comparison_text.sections(comparison):
        yield ""
        yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield f"### {prose(section.title)}"
    yield ""
    if section.rows:
        yield f"| {' | '.join(section.columns)} |"
        yield f"|{'|'.join((' :-- ', *(' --: ' for _ in section.columns[1:])))}|"
    for row in section.rows:
        yield f"| {' | '.join((code(row.cells[0]), *row.cells[1:]))} |"
    for sentence in section.below:
        yield ""
        yield prose(sentence)
