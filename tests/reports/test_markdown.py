"""The Markdown report: letter by letter, and read by a Markdown parser where names are hostile."""

import io
import os
from dataclasses import replace

import pytest
from builders import healthy, kernel, launch, op, timeline
from markdown_it import MarkdownIt
from reports.test_terminal import CASES, GOLDEN

from diagtool import diagnose
from diagtool.diagnosis import Column, Evidence, Result, Table
from diagtool.reports.markdown import code, prose, render

HOSTILE = (
    "a|b", "`tick`", "``", "\\", "a\\|b", "|", "<img src=x onerror=alert(1)>", "</details>", "@octocat", "#12", "GH-7",
    "user/repo#3", "https://evil.example/x", "www.evil.example", "[a](http://b.example)", "![a](b)", "**bold**", "_em_",
    "~~x~~", "<!-- ", "&lt;b&gt;", "$x$", "$`x`$", ":smile:", "deadbeefcafe", "# title", "- item", "1. item", "> quote",
    "---", "a\nb", "\x1b[31m\u202e", "\ud800", "x" * 500, " ", "", "~~~", "<details>", "void f<int>(char*)`|`",
)  # fmt: skip


def text_of(diagnosis):
    out = io.StringIO()
    render(diagnosis, out)
    return out.getvalue()


def parsed(text):
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def inline(tokens):
    for token in tokens:
        yield token
        yield from inline(token.children or ())


@pytest.mark.parametrize("name", CASES)
def test_report_as_expected(name, tmp_path):
    text = text_of(diagnose(CASES[name](tmp_path)))
    path = GOLDEN / f"{name}.md"
    if os.environ.get("DIAGTOOL_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("escaped", [code, prose], ids=["code", "prose"])
def test_a_name_stays_text(name, escaped):
    cell = escaped(name)
    text = f"* {cell}\n\n**1. x** {cell}\n\n| a | b |\n|---|---|\n| {cell} | 1 |\n"
    tokens = parsed(text)
    assert [token.type for token in tokens].count("td_open") == 2
    assert {token.type for token in tokens} <= {
        "bullet_list_open", "list_item_open", "paragraph_open", "inline", "paragraph_close", "list_item_close",
        "bullet_list_close", "table_open", "thead_open", "tr_open", "th_open", "th_close", "tr_close", "thead_close",
        "tbody_open", "td_open", "td_close", "tbody_close", "table_close",
    }  # fmt: skip
    marks = [token for token in inline(tokens) if token.type == "html_inline"]
    assert {token.content for token in marks} <= {"<code>", "</code>"}
    assert not {token.type for token in inline(tokens)} & {"link_open", "image", "em_open", "s_open"}
    assert sum(token.type == "strong_open" for token in inline(tokens)) == 1


@pytest.mark.parametrize("name", ["@octocat", "user/repo#3", "https://evil.example/x", "www.evil.example", "GH-7"])
def test_what_would_be_linked_is_code(name):
    assert prose(f"idle before {name}, then more") == f"idle before `{name}`, then more"


def test_plain_words_stay_plain():
    for text in ("The device is idle 71.4 % of the window: the host cannot feed it.", "deepest call (mean of devices)"):
        assert prose(text) == text
    assert prose("< 0.1 %") == "&lt; 0.1 %"


def test_hostile_names_leave_the_report_whole(tmp_path):
    events = [
        event
        for n, name in enumerate(HOSTILE[:-8])
        for event in (
            op(n * 1000, n * 1000 + 500, name),
            launch(n * 1000 + 500, n * 1000 + 504, id=n + 1),
            kernel(n * 1000 + 505, n * 1000 + 600, id=n + 1, name=name),
        )
    ]
    diagnosis = diagnose(timeline(tmp_path, *events))
    rows = tuple((name, 1.0) for name in HOSTILE)
    table = Table("names", "<b>@octocat</b> | `x`", (Column("a|b"), Column("time", "s")), rows)
    found = replace(diagnosis.findings[0], evidence=tuple(Evidence(name, name, "", name) for name in HOSTILE))
    text = text_of(replace(diagnosis, findings=(found,), results=(*diagnosis.results, Result("x", tables=(table,)))))
    tokens = parsed(text)
    assert not {token.type for token in inline(tokens)} & {"link_open", "image", "em_open", "s_open"}
    for line in (line for line in text.splitlines() if line.startswith("|")):
        assert line.endswith("|")
    blocks = {line for token in tokens if token.type == "html_block" for line in token.content.splitlines()}
    assert {line for line in blocks if not line.startswith("<summary>")} <= {"<details>", "</details>"}
    assert "<summary><code>&lt;b&gt;@octocat&lt;/b&gt; | `x`</code></summary>" in blocks


def test_a_healthy_report_is_short(tmp_path):
    text = text_of(diagnose(timeline(tmp_path, *healthy())))
    assert "healthy" in text
    assert "What to do" not in text
    assert len(text.splitlines()) < 20


def test_an_output_that_cannot_encode_gets_question_marks(tmp_path):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    render(diagnose(timeline(tmp_path, *healthy())), out)
    assert raw.getvalue().isascii()
