"""Markdown tables that read well as plain text too."""

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with columns padded to one width each: the first to the left, the others to the right."""
    widths = [max(len(line[column]) for line in (head, *rows)) for column in range(len(head))]
    rule = [f"{'-' * (width - 1)}{':' if column else '-'}" for column, width in enumerate(widths)]
    return "\n".join(_line(cells, widths) for cells in (head, rule, *rows))


def verdict(value: float, at_least: float) -> str:
    """Whether a number reaches its bar."""
    return "met" if value >= at_least else "missed"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell.rjust(width) if column else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return f"| {' | '.join(padded)} |"
