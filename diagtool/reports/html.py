"""The report as one page that works from a file, offline, on a phone, in print and in dark mode.

Everything is inlined; a content security policy lets nothing else run or load. All but the timeline works without
JavaScript.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import TYPE_CHECKING, TextIO

from diagtool.diagnosis import Diagnosis, Table
from diagtool.reports import html_sections, sentences
from diagtool.reports.figures import accounts
from diagtool.reports.html_sections import section
from diagtool.reports.html_tables import roofline, table
from diagtool.reports.markup import Markup, join, tag
from diagtool.units import plural

if TYPE_CHECKING:
    from diagtool.timeline import Timeline

# Tables with a place of their own; every other one stands under Tables.
_PLACED = ("accounting", "steps", "roofline", "kernels")
_KEYS = (
    "Wheel or pinch zooms, drag pans, hover or tap tells; keys: arrows, + and -, 0 fits, n and p step through events."
)
_SHADE = (
    "Zoomed out, what is narrower than two pixels is drawn as a bar per pixel: its height is the share of the pixel's "
    "time that is busy, never less than a tenth where there is something. The percentage beside a lane is its busy "
    "share of the time in view."
)


def render(diagnosis: Diagnosis, out: TextIO, timeline: "Timeline | None" = None) -> None:
    """Write the page, in ASCII; without a timeline it has no events to draw and says so."""
    out.write(_page(diagnosis, timeline).encode("ascii", "xmlcharrefreplace").decode("ascii"))


def _page(diagnosis: Diagnosis, timeline: "Timeline | None") -> str:
    drawn, data = _timeline(timeline)
    sections = {name: content for name, content in _sections(diagnosis, timeline, drawn) if content}
    scripts = [_asset("page.js"), *([_asset("timeline_data.js"), _asset("timeline.js")] if data else [])]
    style = _asset("page.css")
    body = (
        tag("header", _contents(sections), html_sections.header(diagnosis), html_sections.capture(diagnosis)),
        tag("main", *sections.values()),
        tag("footer", "Made by diagtool. Nothing on this page is loaded from elsewhere."),
        Markup(f'<script type="application/json" id="timeline-data">{data}</script>' if data else ""),
        *(Markup(f"<script>{script}</script>") for script in scripts),
    )
    head = (
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, scripts)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),
        tag("title", f"diagtool: {', '.join(sentences.looked_at(diagnosis)[:2])}"),
        Markup(f"<style>{style}</style>"),
    )
    page = tag("html", tag("head", join(head, "\n")), tag("body", join(body, "\n")), lang="en")
    return f"<!doctype html>\n{page}\n"


def _asset(name: str) -> str:
    return resources.files("diagtool.reports").joinpath(name).read_text("ascii")


def _policy(style: str, scripts: list[str]) -> str:
    hashes = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _sections(diagnosis: Diagnosis, timeline: "Timeline | None", drawn: Markup) -> Iterator[tuple[str, Markup]]:
    """Name and content of each section, in the order of the page."""
    where, what = html_sections.accounting(diagnosis), html_sections.findings(diagnosis)
    beside = what and len(accounts(diagnosis)) == 1
    yield "first", tag("div", where, what, class_="first pair" if beside else "first")
    yield "timeline", drawn
    if (steps := _steps(diagnosis, timeline)) is not None:
        yield "steps", section("steps", steps.title, table(steps, heading=False))
    if (data := diagnosis.table("roofline")) is not None:
        yield "roofline", section("roofline", data.title, roofline(data) or "", table(data, heading=False))
    if (data := diagnosis.table("kernels")) is not None:
        yield "kernels", section("kernels", data.title, table(data, heading=False))
    others = [data for result in diagnosis.results for data in result.tables if data.name not in _PLACED and data.rows]
    if others:
        yield "tables", section("tables", "Tables", *map(table, others))
    yield "unknown", html_sections.not_known(diagnosis)
    yield "methods", html_sections.methods(diagnosis)


def _contents(sections: Mapping[str, Markup]) -> Markup:
    names = {"timeline": "Timeline", "steps": "Steps", "roofline": "Roofline", "kernels": "Kernels", "tables": "Tables"}
    names |= {"unknown": "Not known", "methods": "Definitions"}
    links = (tag("a", words, href=f"#{name}") for name, words in names.items() if name in sections)
    return tag("nav", *links, aria_label="Sections")


def _steps(diagnosis: Diagnosis, timeline: "Timeline | None") -> Table | None:
    found = diagnosis.table("steps")
    if found is not None or timeline is None:
        return found
    from diagtool.reports.html_timeline import step_table

    return step_table(timeline)


def _timeline(timeline: "Timeline | None") -> tuple[Markup, str]:
    """The section of the timeline, and its data as JSON; no data where there is nothing to draw."""
    if timeline is None:
        words = "The events are not in a diagnosis: drawing them takes the trace. Diagnose the trace itself for them."
        return section("timeline", "Timeline", tag("p", words, class_="note")), ""
    from diagtool.reports.html_timeline import embedded, pack

    packed = pack(timeline)
    notes = [tag("p", f"{note[0].upper()}{note[1:]}.", class_="note") for note in packed.notes]
    if not packed.data:
        return section("timeline", "Timeline", tag("p", "There is nothing to draw.", class_="note"), *notes), ""
    lanes = packed.data["lanes"]
    what = f"{plural(packed.events, 'event')} in {plural(len(lanes), 'lane')}"
    canvas = tag("canvas", what, id="timeline-canvas", tabindex="0", role="application", aria_label=f"{what}. {_KEYS}")
    buttons = (
        tag("button", sign, type="button", id=f"timeline-{name}", aria_label=words)
        for name, sign, words in (("in", "+", "zoom in"), ("out", "\N{MINUS SIGN}", "zoom out"), ("fit", "fit", "fit"))
    )
    drawn = tag(
        "div",
        tag("div", tag("ul", class_="legend", id="timeline-legend"), tag("span", *buttons), class_="controls"),
        tag("div", canvas, tag("div", id="timeline-tip", hidden=""), class_="canvas"),
        tag("p", f"{what}.", id="timeline-picked", aria_live="polite", class_="note"),
        tag("p", f"{_KEYS} {_SHADE}", class_="note help"),
        class_="timeline",
    )
    off = tag("noscript", tag("p", "The timeline is drawn by JavaScript, which is off.", class_="note"))
    return section("timeline", "Timeline", *notes, off, drawn), embedded(packed.data)
