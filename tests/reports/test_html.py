"""The HTML report: one whole page that loads nothing, in which every name is text and every event is exact."""

import base64
import hashlib
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import pytest
from builders import H100, annotation, healthy, kernel, launch, op, timeline
from reports.test_terminal import CASES
from samples import GPU_SAMPLE

from diagtool import diagnose, read
from diagtool.diagnosis import Column, Evidence, Fix, Result, Table
from diagtool.metrics import METRICS
from diagtool.reports import html

HOSTILE = (
    "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "<!--", "]]>", "\" onmouseover='x'",
    "\u2028\u2029", "\u202ereversed", "\x1b[31m", "\ud800", "&lt;b&gt;", "a" * 5000, "javascript:alert(1)",
)  # fmt: skip
VOID = {"meta", "link", "input", "br"}
# What the page may hold; anything else would be a name that became markup.
KNOWN = {
    "html", "head", "meta", "link", "title", "style", "body", "header", "nav", "a", "p", "h1", "h2", "h3", "details",
    "summary", "dl", "dt", "dd", "div", "main", "section", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "svg", "rect", "line", "polyline", "circle", "text", "tspan", "span", "b", "ol", "ul", "li", "code", "canvas",
    "button", "noscript", "footer", "script",
}  # fmt: skip


class Page(HTMLParser):
    """A page as elements: (name, attributes) of each, the text of each, and what was left open."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.scripts, self.wrong = [], [], [], []
        self.words = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_comment(self, data):
        self.wrong.append(data)

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    @property
    def data(self):
        return json.loads(next(script for script in self.scripts if script.startswith("{")))


def text_of(diagnosis, drawn=None):
    out = io.StringIO()
    html.render(diagnosis, out, drawn)
    return out.getvalue()


def page_of(drawn):
    return Page(text_of(diagnose(drawn), drawn))


def hostile(tmp_path):
    events = [
        event
        for n, name in enumerate(HOSTILE)
        for event in (
            op(n * 1000, n * 1000 + 500, name),
            launch(n * 1000 + 500, n * 1000 + 504, id=n + 1, name=name),
            kernel(n * 1000 + 505, n * 1000 + 600, id=n + 1, name=name),
            annotation(n * 1000, n * 1000 + 700, f"ProfilerStep#{n}{name}"),
        )
    ]
    properties = [H100 | {"name": HOSTILE[0]}]
    return timeline(tmp_path, *events, deviceProperties=properties, traceName=HOSTILE[1])


def with_hostile_words(diagnosis):
    found = replace(
        diagnosis.findings[0],
        title=HOSTILE[0],
        evidence=tuple(Evidence(name, name, "", name) for name in HOSTILE),
        fix=tuple(Fix(name, name) for name in HOSTILE),
        where={HOSTILE[0]: HOSTILE[1]},
    )
    columns = (Column("kernel"), Column(HOSTILE[0]), Column("time", "s"))
    rows = tuple((name, name, 1.0) for name in HOSTILE)
    tables = (Table("kernels", HOSTILE[1], columns, rows), Table(HOSTILE[0], HOSTILE[0], columns, rows))
    source = replace(diagnosis.source, files=HOSTILE, notes=HOSTILE, tool=HOSTILE[0])
    results = (*diagnosis.results, Result("x", tables=tables), Result(HOSTILE[1], skipped=HOSTILE[0]))
    return replace(diagnosis, source=source, findings=(found,), results=results, environment={HOSTILE[0]: HOSTILE[1]})


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("drawn", [True, False], ids=["drawn", "without-timeline"])
def test_one_whole_page_that_loads_nothing(name, drawn, tmp_path):
    given = CASES[name](tmp_path)
    text = text_of(diagnose(given), given if drawn else None)
    page = Page(text)
    assert (page.wrong, page.open) == ([], [])
    assert {tag for tag, _ in page.elements} <= KNOWN
    addresses = {
        value for _, attributes in page.elements for key, value in attributes.items() if key in ("src", "href")
    }
    assert all(value.startswith(("#", "data:,")) for value in addresses)
    anchors = {attributes.get("id") for _, attributes in page.elements}
    assert {value[1:] for value in addresses if value.startswith("#")} <= anchors
    assert "style" not in {key for _, attributes in page.elements for key in attributes}
    assert text.isascii()
    for forbidden in ("http:", "https:", "//www", "@import", "url(", "innerHTML", "eval("):
        assert forbidden not in text


def test_policy_allows_the_inlined_scripts_and_styles_alone():
    page = page_of(read(GPU_SAMPLE))
    policy = next(attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes)
    run = [script for script in page.scripts if not script.startswith("{")]
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in run]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    assert f"script-src {allowed};" in policy
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none';")
    assert len(run) == 3


def test_hostile_names_are_text_everywhere(tmp_path):
    drawn = hostile(tmp_path)
    text = text_of(with_hostile_words(diagnose(drawn)), drawn)
    page = Page(text)
    assert (page.wrong, page.open) == ([], [])
    assert {tag for tag, _ in page.elements} <= KNOWN
    assert not {key for _, attributes in page.elements for key in attributes if key.startswith("on")}
    assert len(page.scripts) == 4
    assert "<img src=x onerror=alert(1)>" in page.text
    assert HOSTILE[0] in page.data["names"]
    assert "<script>alert" not in text
    for mark in ("\u2028", "\u202e", "\x1b", "\ud800", "&#8232;", "&#8238;", "&#55296;"):
        assert mark not in text


def test_every_finding_is_told_whole():
    diagnosis = diagnose(read(GPU_SAMPLE))
    text = page_of(read(GPU_SAMPLE)).text
    for found in diagnosis.findings:
        for words in (found.cause, found.severity, found.title, f"{found.confidence} confidence"):
            assert words in text
        for item in (*found.evidence, *found.fix):
            assert (item.what if isinstance(item, Evidence) else item.text) in text
    assert "37.6 %" in text
    assert "4.46 ms" in text


def test_every_metric_is_defined():
    text = page_of(read(GPU_SAMPLE)).text
    for name in {one.name for result in diagnose(read(GPU_SAMPLE)).results for one in result.metrics}:
        assert METRICS[name].definition in text
        assert METRICS[name].meaning in text


def test_a_value_that_is_not_known_says_why(tmp_path):
    text = page_of(CASES["two_ranks"](tmp_path)).text
    assert "idle.starved_fraction: missing: no step mark says how many requests were runnable." in text
    assert "Kernels keep the device busy; counters or the model's shapes would say" in text


def test_what_was_lost_on_reading_is_said(tmp_path):
    text = page_of(CASES["broken"](tmp_path)).text
    assert "1 x events that end before they start (backward)." in text
    assert "1 event that cannot be true left out." in text


def test_a_healthy_page_says_there_is_nothing_to_do(tmp_path):
    text = page_of(timeline(tmp_path, *healthy())).text
    assert "healthy" in text
    assert "What to do" not in text


def test_without_a_timeline_the_page_says_what_it_takes():
    text = text_of(diagnose(read(GPU_SAMPLE)))
    assert "drawing them takes the trace" in Page(text).text
    assert "timeline-data" not in text


def test_tables_hold_raw_values_to_sort_by(tmp_path):
    diagnosis = diagnose(timeline(tmp_path, *healthy()))
    columns = (Column("kernel"), Column("time", "s"), Column("share", "fraction"), Column("waves"))
    table = Table("kernels", "Kernels by time", columns, (("gemm", 0.0025, 0.5, None), ("softmax", 1e-6, None, 3)))
    page = Page(text_of(replace(diagnosis, results=(Result("kernels", tables=(table,)),))))
    assert "Not known of any row" not in page.text
    values = [attributes["data-v"] for _, attributes in page.elements if "data-v" in attributes]
    assert values == ["0.0025", "0.5", "1e-06", "3"]
    assert "gemm 2.50 ms 50.0 % unknown softmax 1.00 us unknown 3" in page.text


def test_columns_without_any_value_are_named_and_left_out(tmp_path):
    diagnosis = diagnose(timeline(tmp_path, *healthy()))
    columns = (Column("step"), Column("tokens", "count"), Column("length", "s"))
    table = Table("steps", "Steps", columns, (("a", None, 1.0), ("b", None, None)))
    text = Page(text_of(replace(diagnosis, results=(Result("steps", tables=(table,)),)))).text
    assert "step length a 1.00 s b unknown Not known of any row: tokens." in text


def test_roofline_is_drawn_where_the_columns_allow(tmp_path):
    diagnosis = diagnose(timeline(tmp_path, *healthy()))
    columns = (Column("part"), Column("density", "flops/byte"), Column("achieved", "flops/s"),
               Column("peak", "flops/s"), Column("peak bandwidth", "bytes/s"))  # fmt: skip
    peaks = (9.9e14, 3.3e12)
    rows = (("attention", 2.0, 5e12, *peaks), ("linear", 300.0, 6e14, *peaks), ("other", None, 0, 0, 0))
    for heads, drawn in ((columns, 2), ((Column("part"), *columns[2:], Column("x", "s")), 0)):
        result = Result("roofline", tables=(Table("roofline", "Roofline", heads, rows),))
        page = Page(text_of(replace(diagnosis, results=(result,))))
        assert sum(tag == "circle" for tag, _ in page.elements) == drawn
        assert sum(tag == "polyline" for tag, _ in page.elements) == bool(drawn)
        assert "Roofline" in page.text


def test_words_stand_out_from_their_ground_in_both_modes():
    style = resources.files("diagtool.reports").joinpath("page.css").read_text()
    light = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", style.partition("@media")[0]))
    dark = light | dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", style.partition("@media")[2].partition("* {")[0]))
    for colours in (light, dark):
        for name in ("text", "quiet", "critical", "warning", "info", "focus"):
            assert contrast(colours[name], colours["ground"]) >= 4.5, name
        for name in ("compute", "communication", "copy", "call", "blocking", "step", "operator"):
            assert contrast(colours[name], colours["on-mark"]) >= 4.5, name
        for name in ("compute", "communication", "copy", "host", "queue"):
            assert contrast(colours[name], colours["ground"]) >= 3, name


def contrast(one, other):
    """Contrast of two colours as WCAG 2 defines it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
