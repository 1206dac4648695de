"""HTML put together so that a string cannot become markup by accident: what is not Markup is escaped."""

import html
from collections.abc import Iterable

from diagtool.units import printable

_VOID = frozenset(("meta", "link", "input", "br"))


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: str) -> Markup:
    """Any string as text of a page, on one line."""
    return value if isinstance(value, Markup) else Markup(html.escape(printable(value)))


def join(parts: Iterable[str], separator: str = "") -> Markup:
    """Parts one after another, each escaped unless it is Markup."""
    return Markup(separator.join(text(part) for part in parts))


def tag(name: str, /, *children: str, **attributes: str | None) -> Markup:
    """An element. ``class_`` is the attribute class, ``data_v`` is data-v; None leaves an attribute out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(printable(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{join(children)}</{name}>")
