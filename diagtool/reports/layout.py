"""How reports for a terminal are laid out: lines in the characters and the width that the other end has."""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from diagtool.units import printable

WIDTH = 80
# Between a number and its unit, so that a line does not break there.
KEEP = "\N{NO-BREAK SPACE}"
_WIDEST, _NARROWEST = 100, 40
_DRAWN = "█▎…·"
_PLAIN = str.maketrans({"·": "-", "…": "~"})
_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,}")


def write(lines: Callable[[int], Iterable[Text]], out: TextIO) -> None:
    """Write the lines made for the width of ``out``; 80 columns where it is no terminal, coloured where it wants it."""
    console = _Console(file=out, width=None if out.isatty() else WIDTH, highlight=False, markup=False, emoji=False)
    drawing = can_draw(out)
    for line in lines(max(min(console.width, _WIDEST), _NARROWEST)):
        console.print(line if drawing else _plain(line, out), soft_wrap=True)


class _Console(Console):
    """A console whose reader may leave: what that means is for the command line to say, not to end the process."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def can_draw(out: TextIO) -> bool:
    """Whether ``out`` can write the characters that bars and marks are drawn with."""
    encoding = getattr(out, "encoding", None) or "utf-8"
    try:
        _DRAWN.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def wrapped(text: str, width: int, style: str = "", indent: str = "") -> Iterator[Text]:
    """A sentence on as many lines as it needs."""
    clean = printable(text)
    for line in textwrap.wrap(clean, width, initial_indent=indent, subsequent_indent=indent) or [""]:
        yield Text(line.replace(KEEP, " "), style=style)


def shown(name: str, width: int) -> str:
    """A name from a trace on one line of at most ``width`` cells, its middle left out where it is longer."""
    text = _ADDRESS.sub("", printable(name))
    if cell_len(text) <= width:
        return text
    if width < 3:
        return set_cell_size(text, width)
    head = (width - 1) * 2 // 3
    tail = text[::-1]
    return f"{set_cell_size(text, head)}…{set_cell_size(tail, width - 1 - head)[::-1]}"


def _plain(line: Text, out: TextIO) -> Text:
    """The line in the characters that ``out`` can write."""
    encoding = out.encoding
    return Text(line.plain.translate(_PLAIN).encode(encoding, "replace").decode(encoding), style=line.style)
