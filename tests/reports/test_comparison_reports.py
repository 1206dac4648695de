"""The comparison as text: 80 columns, the verdict first, the same words in the terminal and in Markdown."""

import io
import json
import re

import pytest
from builders import timeline
from rich.cells import cell_len
from test_comparison import MODEL, OTHER, run

from diagtool import diagnose
from diagtool.comparison import compare
from diagtool.errors import UsageError
from diagtool.reports import comparison_json, comparison_markdown, comparison_terminal, parse_outputs
from diagtool.reports.comparisons import of_comparison

ODD = (("aten::mul", "k\x1b[31m|`漢" * 30 + "end", 30),)


def compared(path, first, second):
    return compare(*(diagnose(timeline(path, *run(**how))) for how in (first, second)))


CASES = {
    "nothing": ({}, {}),
    "idle": ({}, {"gap": 40}),
    "slow": ({}, {"slow": 2.5}),
    "faster": ({"loading": 500}, {}),
    "kernels": ({"model": MODEL[:1] * 2 + MODEL[1:]}, {"model": (*MODEL, ("aten::mm", "gemm_256x64", 60))}),
    "calls": ({"layers": 2}, {"layers": 9}),
    "odd": ({"model": MODEL}, {"model": MODEL + ODD}),
    "refused": ({}, {"model": OTHER}),
}


def text_of(found, module=comparison_terminal, encoding="utf-8"):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding)
    module.render(found, out)
    out.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("name", CASES)
def test_the_terminal_report_fits_and_begins_with_what_was_compared(name, tmp_path):
    text = text_of(compared(tmp_path, *CASES[name]))
    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= 80
    assert [line[:3] for line in lines[:3]] == ["A  ", "B  ", ""]
    assert "\x1b" not in text
    assert "One sample each: no significance." in text


@pytest.mark.parametrize("name", CASES)
def test_markdown_says_what_the_terminal_says(name, tmp_path):
    found = compared(tmp_path, *CASES[name])
    text = text_of(found, comparison_markdown)
    first = text.splitlines()[0]
    assert re.fullmatch(r"\*\*.*\.\*\*", first)
    for table in re.findall(r"(?:^\|.*\|$\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    assert "\x1b" not in text
    plain = " ".join(text_of(found).split())
    assert first.replace("*", "").replace("`", "")[:40] in plain


def test_the_verdict_comes_with_what_made_the_difference(tmp_path):
    text = " ".join(text_of(compared(tmp_path, *CASES["idle"])).split())
    assert re.search(
        r"B takes \d+\.\d % longer per step: [\d.]+ us instead of [\d.]+ us\. Largest changes: idle host \+", text
    )
    assert "Causes: host-bound +" in text
    assert "A change of less than 2 % of A's" in text
    assert "B takes 2.0 times as long per step" in text_of(compared(tmp_path, *CASES["slow"]))
    assert re.search(r"B takes \d+\.\d % less time per step", text_of(compared(tmp_path, *CASES["faster"])))


def test_kernels_that_are_new_or_gone_stand_beside_none(tmp_path):
    text = text_of(compared(tmp_path, *CASES["kernels"]))
    assert re.search(r"gemm_256x64 +none +4 +none +240\.0 us +\+240\.0 us", text)
    assert re.search(r"gemm_128x128 +8 +4 ", text)


def test_a_unit_that_is_no_step_says_why(tmp_path):
    text = " ".join(text_of(compared(tmp_path, *CASES["calls"])).split())
    assert "Not per step: their steps do different work" in text
    assert "Not per token: not both state their tokens." in text
    assert "per call of gemm_128x128" in text


def test_a_refusal_shows_totals_and_no_change(tmp_path):
    text = text_of(compared(tmp_path, *CASES["refused"]))
    assert "No verdict: A and B cannot be compared." in text
    assert "they say nothing about faster or slower" in " ".join(text.split())
    assert "Where the time went (totals, not comparable)" in text
    assert not re.search(r"[+-]\d+\.\d+ [mun]s", text)


def test_a_terminal_that_knows_only_ascii(tmp_path):
    for name in ("odd", "refused"):
        found = compared(tmp_path, *CASES[name])
        assert text_of(found, encoding="ascii").isascii()
        assert text_of(found, comparison_markdown, encoding="ascii").isascii()
        assert json.loads(text_of(found, comparison_json, encoding="ascii"))["schema"] == 1


def test_outputs_of_a_comparison_have_its_own_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outputs = of_comparison(parse_outputs(["-", "a.json", "b.md"]))
    assert [output.report.module.rpartition("_")[2] for output in outputs] == ["terminal", "json", "markdown"]
    with pytest.raises(UsageError, match="a comparison has no html report"):
        of_comparison(parse_outputs(["a.html"]))
