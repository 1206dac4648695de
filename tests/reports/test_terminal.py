"""The terminal report, letter by letter; ``make golden`` rewrites the expected texts."""

import io
import os
from pathlib import Path

import pytest
from builders import annotation, copy, healthy, kernel, launch, op, recording, step, timeline
from samples import CPU_SAMPLE, GPU_SAMPLE

from diagtool import diagnose, read
from diagtool.reports.layout import shown
from diagtool.reports.terminal import render

GOLDEN = Path(__file__).parent.parent / "golden"


def text_of(diagnosis, encoding="utf-8"):
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    render(diagnosis, out)
    return raw.getvalue().decode(encoding)


def odd_names(tmp_path):
    return timeline(
        tmp_path, op(0, 500, "aten[kernel]/x [bold]\x1b[31m"), launch(500, 504, id=1),
        kernel(505, 520, id=1, name="void f<\u202e[red]>(\n)" * 20), kernel(0, 4, name="first"),
    )  # fmt: skip


def two_ranks(tmp_path):
    from builders import trace, write

    events = [
        *healthy(20),
        *(kernel(20_000 + 100 * n, 20_060 + 100 * n, name="ncclKernel", stream=8) for n in range(60)),
    ]
    return read(*(write(tmp_path / f"{rank}.json", trace(*events[: 50 + 20 * rank], rank=rank)) for rank in (0, 1)))


def broken(tmp_path):
    events = [*healthy(), kernel(0, 1, name="backward") | {"dur": -3}, kernel(5, 6) | {"ts": None}]
    return timeline(tmp_path, *(event | {"dur": 9e9} if n == 31 else event for n, event in enumerate(events)))


def outside(tmp_path):
    events = [op(0, 590, "decode_video"), step(0, 1000), launch(600, 604, id=1), kernel(605, 1000, id=1)]
    return timeline(tmp_path, *events, recording(-10, 1100))


def copies(tmp_path):
    events = [
        item
        for n in range(30)
        for item in (copy(n * 100, n * 100 + 40, bytes=2**20), kernel(n * 100 + 40, n * 100 + 100))
    ]
    return timeline(tmp_path, *events, annotation(0, 3_000, "step[DECODE bs=8]"))


CASES = {
    "decode_eager": lambda _: read(GPU_SAMPLE),
    "cpu_only": lambda _: read(CPU_SAMPLE),
    "healthy": lambda path: timeline(path, *healthy()),
    "odd_names": odd_names,
    "two_ranks": two_ranks,
    "broken": broken,
    "outside": outside,
    "copies": copies,
}


@pytest.mark.parametrize("name", CASES)
def test_report_as_expected(name, tmp_path):
    text = text_of(diagnose(CASES[name](tmp_path)))
    assert max(map(len, text.splitlines())) <= 80
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("DIAGTOOL_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_names_are_text_and_cannot_steer_the_terminal(tmp_path):
    text = text_of(diagnose(odd_names(tmp_path)))
    assert "aten[kernel]/x [bold]" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_device_name_is_text_too(tmp_path):
    text = text_of(
        diagnose(
            timeline(tmp_path, *healthy(), deviceProperties=[{"id": 0, "name": "\x1b[31mE\n\u202e\u200b" + "X" * 99}])
        )
    )
    assert not set("\x1b\u202e\u200b") & set(text)
    assert max(map(len, text.splitlines())) <= 80


def test_wide_characters_count_twice(tmp_path):
    from rich.cells import cell_len

    assert cell_len(shown("漢" * 60, 21)) <= 21
    assert (
        max(map(cell_len, text_of(diagnose(timeline(tmp_path, op(0, 500, "漢" * 90), *healthy()))).splitlines())) <= 80
    )


def test_a_terminal_that_cannot_draw_gets_plain_bars(tmp_path):
    text = text_of(diagnose(read(GPU_SAMPLE)), encoding="ascii")
    assert "####" in text
    assert text.isascii()


def test_a_healthy_report_is_short(tmp_path):
    text = text_of(diagnose(timeline(tmp_path, *healthy())))
    assert "healthy" in text
    assert "What to do" not in text


@pytest.mark.parametrize("width", [1, 5, 20, 200])
def test_long_names_keep_both_ends(width):
    name = "start" + "x" * 100 + "end"
    assert len(shown(name, width)) <= max(width, 1)
    if width == 20:
        assert shown(name, width).startswith("start")
        assert shown(name, width).endswith("end")
