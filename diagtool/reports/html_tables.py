"""Tables of the HTML report: any table of a diagnosis, sortable by its raw values, and the roofline chart of one."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diagtool.diagnosis import Column, Scalar, Table
from diagtool.reports.figures import is_text, known_part, value_text
from diagtool.reports.markup import Markup, join, tag
from diagtool.units import percent_text

# From so many rows on a table has a field that filters it; a longer one scrolls in itself.
_FILTERED_ROWS, _TALL_ROWS, _NAMED_POINTS = 8, 18, 8
# A text of more letters may be folded; a shorter one keeps its line.
_LONG = 24
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _EDGE = 640, 310, 48, 36, 24

Point = tuple[float, float]


def table(data: Table, *, heading: bool = True) -> Markup:
    """A table, under its title unless that is said already; it scrolls sideways in itself where the page is narrow."""
    data, unknown = known_part(data)
    words = is_text(data)
    heads = (tag("th", column.name, scope="col", class_=_class(text)) for column, text in _paired(data, words))
    rows = (_row(data.columns, row, words) for row in data.rows)
    body = tag(
        "table",
        tag("caption", data.title, class_="hidden"),
        tag("thead", tag("tr", *heads)),
        tag("tbody", join(rows, "\n")),
        class_="sortable",
    )
    scroll = "scroll tall" if len(data.rows) > _TALL_ROWS else "scroll"
    return tag(
        "div",
        *([tag("h3", data.title)] if heading else []),
        tag("div", body, class_=scroll, tabindex="0", role="region", aria_label=data.title),
        *([tag("p", f"Not known of any row: {', '.join(unknown)}.", class_="note")] if unknown else []),
        class_="table",
        data_filter="" if len(data.rows) >= _FILTERED_ROWS else None,
    )


def _paired(data: Table, words: Sequence[bool]) -> Iterator[tuple[Column, bool]]:
    return zip(data.columns, words, strict=True)


def _class(text: bool) -> str | None:
    return None if text else "number"


def _row(columns: Sequence[Column], row: Sequence[Scalar], words: Sequence[bool]) -> Markup:
    cells = []
    for column, cell, text in zip(columns, row, words, strict=True):
        shown = value_text(cell, column.unit)
        if text:
            kind = "name long" if len(shown) > _LONG else "name"
            cells.append(tag("td", tag("span", shown, class_=kind, title=shown)) if cell is not None else _nothing())
            continue
        bar = (_share(cell),) if column.name == "share" and isinstance(cell, (int, float)) else ()
        value = None if cell is None else repr(cell)
        cells.append(tag("td", *bar, shown, class_="number", data_v=value) if cell is not None else _nothing("number"))
    return tag("tr", *cells)


def _nothing(kind: str | None = None) -> Markup:
    return tag("td", tag("span", "unknown", class_="quiet"), class_=kind)


def _share(value: float) -> Markup:
    width = f"{min(max(value, 0.0), 1.0) * 100:.2f}%"
    return tag("svg", tag("rect", width=width, height="100%"), class_="share", aria_hidden="true")


def stacked(parts: Sequence[tuple[str, str, float]]) -> Markup:
    """One bar of (CSS class, words, share), each at least visible; the words are read out."""
    shown = [part for part in parts if part[2] > 0]
    at, rects = 0.0, []
    for kind, words, share in shown:
        title = tag("title", f"{words} {percent_text(share)}")
        x, width = f"{at * 100:.3f}%", f"{max(share, 0.002) * 100:.3f}%"
        rects.append(tag("rect", title, class_=kind, x=x, width=width, height="100%"))
        at += share
    label = ", ".join(f"{words} {percent_text(share)}" for _, words, share in shown)
    return tag("svg", *rects, class_="stacked", role="img", aria_label=label or "nothing")


def roofline(data: Table) -> Markup | None:
    """Intensity against rate of every row, both on a log scale; None where the table does not hold the two.

    Columns are found by their units; one whose name says peak is a roof and not a measurement.
    """
    across = _values(data, "flops/byte", peak=False)
    up = _values(data, "flops/s", peak=False)
    points = [(x, y, row) for x, y, row in zip(across, up, data.rows, strict=False) if x and y and x > 0 and y > 0]
    if not points:
        return None
    peaks = zip(_values(data, "flops/s", peak=True), _values(data, "bytes/s", peak=True), strict=False)
    roofs = sorted({(flops, rate) for flops, rate in peaks if flops and rate and flops > 0 and rate > 0})
    left, right = _decades([x for x, _, _ in points] + [flops / rate for flops, rate in roofs])
    low, high = _decades([y for _, y, _ in points] + [flops for flops, _ in roofs])
    scale = _Scale(left, right, low, high)
    shapes = [*_grid(scale), *(_roof(scale, *roof) for roof in roofs)]
    for x, y, row in points:
        words = " ".join(cell for cell in row[:-1] if isinstance(cell, str))
        title = tag("title", f"{words}: {value_text(x, 'flops/byte')} flops/byte, {value_text(y, 'flops/s')}")
        across_px, up_px = scale.at(x, y)
        shapes.append(tag("circle", title, cx=f"{across_px:.1f}", cy=f"{up_px:.1f}", r="4.5", class_="point"))
        if len(points) <= _NAMED_POINTS:
            shapes.append(_name(words, across_px, up_px))
    label = f"{len(points)} rows: flops/s against flops/byte, both on a log scale; the table below holds the values"
    return tag("svg", *shapes, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", class_="chart", role="img", aria_label=label)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The ends of both axes as powers of ten."""

    left: int
    right: int
    low: int
    high: int

    def at(self, x: float, y: float) -> Point:
        """Where a value lies on the chart."""
        width, height = _WIDTH - _LEFT - _EDGE, _HEIGHT - _BOTTOM - _EDGE
        across = (math.log10(x) - self.left) / (self.right - self.left)
        up = (math.log10(y) - self.low) / (self.high - self.low)
        return _LEFT + across * width, _EDGE + (1 - up) * height


def _values(data: Table, unit: str, *, peak: bool) -> list[float | None]:
    for i, column in enumerate(data.columns):
        if column.unit == unit and ("peak" in column.name.lower()) is peak:
            return [_finite(row[i]) for row in data.rows]
    return []


def _finite(cell: Scalar) -> float | None:
    number = float(str(cell)) if isinstance(cell, (int, float)) else math.inf
    return number if math.isfinite(number) else None


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, high if high > low else low + 1


def _name(words: str, x: float, y: float) -> Markup:
    """The name of a point beside it, on the side where there is room."""
    room_right = x < _WIDTH * 0.75
    short = words if len(words) <= _LONG else f"{words[: _LONG - 1]}\N{HORIZONTAL ELLIPSIS}"
    return tag(
        "text", short, x=f"{x + (8 if room_right else -8):.1f}", y=f"{y + 14:.1f}", class_=None if room_right else "end"
    )


def _grid(scale: _Scale) -> Iterator[Markup]:
    bottom, top = scale.at(10.0**scale.left, 10.0**scale.low)[1], _EDGE
    for power in range(scale.left, scale.right + 1):
        x, _ = scale.at(10.0**power, 10.0**scale.low)
        yield _line((x, bottom), (x, top), "grid")
        yield tag("text", _power(power), x=f"{x:.1f}", y=f"{bottom + 15:.1f}", class_="middle")
    for power in range(scale.low, scale.high + 1):
        x, y = scale.at(10.0**scale.left, 10.0**power)
        yield _line((x, y), (_WIDTH - _EDGE, y), "grid")
        yield tag("text", _power(power), x=f"{x - 6:.1f}", y=f"{y + 4:.1f}", class_="end")
    yield tag("text", "flops/byte", x=f"{_WIDTH - _EDGE}", y=f"{_HEIGHT - 4}", class_="end")
    yield tag("text", "flops/s", x="2", y="10")


def _roof(scale: _Scale, flops: float, rate: float) -> Markup:
    first = max(10.0**scale.left, 10.0**scale.low / rate)
    corners = [(first, first * rate), (flops / rate, flops), (10.0**scale.right, flops)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (scale.at(*corner) for corner in corners))
    return tag("polyline", points=points, class_="roof")


def _line(start: Point, end: Point, kind: str) -> Markup:
    (x1, y1), (x2, y2) = start, end
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", class_=kind)


def _power(power: int) -> Markup:
    if -2 <= power <= 4:
        return Markup(f"{10.0**power:g}")
    return Markup(f'10<tspan dy="-5" class="small">{power}</tspan>')
