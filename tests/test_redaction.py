"""What may leave the house holds no file name and no path."""

import pytest
from builders import healthy, kernel, op, python, trace, write

from diagtool import diagnose, read
from diagtool.diagnosis import to_json
from diagtool.redaction import redact


@pytest.mark.parametrize(
    "name",
    [
        "/home/alice/model.py(3): forward", "/home/alice smith/x/model.py(3): forward", "../alice/model.py(3): f",
        "C:\\Users\\alice\\model.py(3): f", "alice/pkg/model.py(3): f", "open /home/alice", "read ~/alice/secret.bin",
        "C:\\Users\\alice",
    ],
)  # fmt: skip
def test_paths_are_gone_from_names(tmp_path, name):
    events = [
        event
        for n in range(20)
        for event in (op(100 * n, 100 * n + 60, name), kernel(100 * n + 70, 100 * n + 80, id=n + 1))
    ]
    calls = [
        python(100 * n, 100 * n + 60, name) | {"cat": "cuda_runtime", "args": {"correlation": n + 1}} for n in range(20)
    ]
    diagnosis = diagnose(read(write(tmp_path / "alice_47.trace.json", trace(*events, *calls))))
    assert "alice" in to_json(diagnosis)
    assert "alice" not in to_json(redact(diagnosis))


@pytest.mark.parametrize(
    "name", ["aten[kernel]/x", "## a/b ##", "void f<int, 3>(float*)", "nccl:all_reduce", "rate 3 / 4"]
)
def test_other_names_stay(tmp_path, name):
    diagnosis = diagnose(read(write(tmp_path / "t.json", trace(kernel(0, 1, name=name) | {"dur": -1}, *healthy()))))
    assert name in to_json(redact(diagnosis))


def test_inputs_of_one_name_stay_apart(tmp_path):
    paths = []
    for rank in (0, 1):
        (tmp_path / f"rank{rank}").mkdir()
        paths.append(write(tmp_path / f"rank{rank}" / "trace.json", trace(*healthy(), rank=rank)))
    assert redact(diagnose(read(*paths))).source.files == ("input-1.json", "input-2.json")


def test_a_redacted_timeline_keeps_every_event_and_no_path(tmp_path):
    from builders import kernel, launch, python, timeline

    from diagtool.redaction import redact_timeline

    built = timeline(
        tmp_path, python(0, 9, "/home/ann/a/model.py(1): f"), python(10, 12, "/home/ann/b/model.py(1): f"),
        launch(1, 2, id=1), kernel(3, 4, id=1, name="void k(/home/ann/x.h)"),
    )  # fmt: skip
    clean = redact_timeline(built)
    for table, frame in clean.frames().items():
        assert len(frame) == len(getattr(built, table))
        assert "ann" not in frame.astype(str).to_csv()
    assert clean.host["start_ns"].equals(built.host["start_ns"])
    assert clean.host["name"].nunique() == 3, "two that have become alike are still two"


@pytest.mark.parametrize(
    "text",
    [
        "load[/home/ann/m.bin]", "</home/ann/m>", ">/home/ann/b", "a|/home/ann/q", "a;/home/ann/b", "{/home/ann/b}",
        "`/home/ann`", "-I/usr/ann/include", "host@ann:/data/x", "s3://ann/x", "~ann/x/y", "home/ann/mod.cu",
        "/home/a,ann/b", "/home/(ann)/b", "/home/X:x/annb", "/home/ann ann/x", "x=/home/ann", "f(/home/ann, 3)",
        "C:\\Users\\ann", "\\\\server\\ann\\x", "k:/home/ann",
    ],
)  # fmt: skip
def test_no_part_of_a_path_stays(text):
    from diagtool.redaction import without_paths

    assert "ann" not in without_paths(text)


def test_what_is_no_path_stays():
    from diagtool.redaction import without_paths

    for text in ("bytes/s", "N/A", "3 / 4", "window.length_s/1", "aten[kernel]/x", "a/b", "void f<int>(float*)", ""):
        assert without_paths(text) == text
    assert without_paths("pkg/sub/model.py(3): forward /x") == "model.py(3): forward <path>"


@pytest.mark.parametrize("name", ["fraction", "warning", "s", "host", "0"])
def test_a_file_with_an_ordinary_name_changes_no_word(tmp_path, name):
    whole = diagnose(read(write(tmp_path / name, trace(*healthy()))))
    clean = redact(whole)
    assert [metric.name for metric in clean.results[0].metrics] == [metric.name for metric in whole.results[0].metrics]
    assert clean.source.files == ("input-1",)


def test_long_names_take_linear_time(tmp_path):
    """A million characters with separators, in a second or two: anything worse would take hours."""
    from diagtool.redaction import without_paths

    for part in ("a/", "x" * 50 + ".py(1)/", "/", "(", "a:"):
        assert len(without_paths(part * (1_000_000 // len(part)))) <= 1_000_001


def test_names_that_become_equal_stay_apart(tmp_path):
    from diagtool.redaction import redact_timeline

    events = [kernel(n, n + 1, name=name) for n, name in enumerate(("/a/b/c", "/d/e/f", "<path> [2]"))]
    clean = redact_timeline(read(write(tmp_path / "t.json", trace(*events))))
    assert clean.device["name"].nunique() == 3
