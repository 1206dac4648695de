"""The comparison a person reads: what is compared, one sentence, what made the difference, the tables.

80 columns, piped or not. What changed has a sign or a word; colour only repeats it.
"""

from collections.abc import Iterator
from typing import TextIO

from rich.text import Text

from diagtool.comparison import Comparison
from diagtool.reports import comparison_text
from diagtool.reports.comparison_text import LESS, MORE, Section
from diagtool.reports.layout import shown, wrapped, write

_STYLES = {MORE: "yellow", LESS: "green"}
_LEAST_NAME = 12
_LONGEST_PART = 36


def render(comparison: Comparison, out: TextIO, timeline: object = None) -> None:
    """Write the report; in colour where ``out`` is a terminal that wants it."""
    write(lambda width: _lines(comparison, width), out)


def _lines(comparison: Comparison, width: int) -> Iterator[Text]:
    for side, capture in (("A", comparison.before), ("B", comparison.after)):
        file, *parts = (shown(part, _LONGEST_PART) for part in comparison_text.looked_at(capture))
        rest = " · ".join(parts)
        yield Text(f"{side}  {shown(file, max(width - len(rest) - 6, _LEAST_NAME))} · {rest}")
    yield Text("")
    yield from wrapped(comparison_text.verdict(comparison), width, "bold")
    for sentence in comparison_text.explanation(comparison):
        yield from wrapped(sentence, width)
    for section in comparison_text.sections(comparison):
        yield Text("")
        yield from _section(section, width)


def _section(section: Section, width: int) -> Iterator[Text]:
    """Numbers right-aligned, one width for each column; the names take what is left."""
    yield Text(shown(section.title, width), style="bold")
    lines = [section.columns, *(row.cells for row in section.rows)] if section.rows else []
    sizes = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for cells, row in zip(lines, (None, *section.rows), strict=False):
        name = max(width - 2 - sum(size + 2 for size in sizes[1:]), _LEAST_NAME)
        name = min(name, max(sizes[0], _LEAST_NAME))
        first = shown(cells[0], name).ljust(name)
        numbers = "".join(f"  {cell:>{size}}" for cell, size in zip(cells[1:], sizes[1:], strict=True))
        style = "dim" if row is None else _STYLES.get(row.direction, "")
        yield Text(f"  {first}{numbers}".rstrip(), style=style)
    for sentence in section.below:
        yield from wrapped(sentence, width, "dim", "  ")
