"""``diagtool compare`` as a process: exit codes, streams, outputs."""

import json
import os
import subprocess
import sys

import pytest
from builders import op, timeline, trace, write
from samples import GPU_SAMPLE
from test_comparison import OTHER, run

from diagtool import diagnose
from diagtool.diagnosis import to_json
from diagtool.scope import WHOLE, Scope

PLAIN = {key: value for key, value in os.environ.items() if not key.startswith("DIAGTOOL_")} | {"NO_COLOR": "1"}


def compare(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "diagtool", "compare", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, env=PLAIN | environment, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """Diagnoses of a run, of a slower one, of another model, of the steps' window, and one trace of each kind."""
    folder = tmp_path_factory.mktemp("captures")
    runs = {"before": {}, "slower": {"gap": 40}, "other": {"model": OTHER}}
    for name, how in runs.items():
        (folder / f"{name}.json").write_text(to_json(diagnose(timeline(folder, *run(**how)), WHOLE)))
    (folder / "steps.json").write_text(to_json(diagnose(timeline(folder, *run()), Scope(window="steps"))))
    write(folder / "trace.json", trace(*run()))
    write(folder / "host.json", trace(op(0, 10)))
    (folder / "empty.json").touch()
    for rank in (0, 1):
        (folder / "ranks").mkdir(exist_ok=True)
        write(folder / "ranks" / f"{rank}.json", trace(*run(), rank=rank))
    return folder


def test_a_comparison_on_stdout_and_nothing_else(workplace, tmp_path):
    done = compare(workplace / "before.json", workplace / "slower.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("A  trace.json · NVIDIA H100 80GB HBM3 · 6 steps · ")
    assert "longer per step" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [("--json",), ("-o", "json:-")])
def test_json_and_nothing_else(workplace, arguments):
    done = compare(workplace / "before.json", workplace / "slower.json", *arguments)
    data = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (data["schema"], data["unit"]["what"], data["refused"]) == (1, "step", [])
    assert data["total"]["change_s"] > 0


def test_reports_to_files(workplace, tmp_path):
    arguments = (workplace / "before.json", workplace / "slower.json", "-o", "a.json", "-o", "change.md")
    done = compare(*arguments, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.splitlines() == ["Wrote a.json", "Wrote change.md"]
    assert (tmp_path / "change.md").read_text().startswith("**B takes ")
    assert json.loads((tmp_path / "a.json").read_text())["schema"] == 1
    assert compare(*arguments, cwd=tmp_path).returncode == 2
    assert compare(*arguments, "-fq", cwd=tmp_path).stderr == ""


def test_what_cannot_be_compared_is_no_verdict(workplace, tmp_path):
    done = compare(workplace / "before.json", workplace / "other.json", "-o", "no.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (3, "Wrote no.json\n")
    assert "No verdict: A and B cannot be compared." in done.stdout
    assert json.loads((tmp_path / "no.json").read_text())["unit"] is None
    done = compare(workplace / "host.json", workplace / "host.json")
    assert (done.returncode, done.stderr) == (3, "")
    assert "A and B hold no device work." in done.stdout


def test_traces_and_folders_of_ranks_are_compared_with_themselves(workplace):
    for target, on in (("trace.json", ""), ("ranks", " on each device")):
        done = compare(workplace / target, workplace / target)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Nothing changed: A takes " in done.stdout
        assert f"6 in A, 6 in B{on}" in " ".join(done.stdout.split())
    done = compare(workplace / "trace.json", GPU_SAMPLE)
    assert done.returncode == 3


def test_a_trace_is_diagnosed_as_the_diagnosis_beside_it_was(workplace):
    done = compare(workplace / "steps.json", workplace / "trace.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing changed" in done.stdout
    done = compare(workplace / "steps.json", workplace / "trace.json", "--window", "device")
    assert done.returncode == 3
    assert "the windows are of different kinds" in " ".join(done.stdout.split()).replace("The", "the")


def test_a_setting_chooses_the_window(workplace, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.diagtool]\nwindow = 'steps'\n")
    done = compare(workplace / "trace.json", workplace / "trace.json", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["before"]["window"] == "steps"
    done = compare(workplace / "trace.json", workplace / "trace.json", "--json", "--window", "device", cwd=tmp_path)
    assert json.loads(done.stdout)["before"]["window"] == "device"


def test_redacted_comparisons_name_no_file(tmp_path):
    path = write(tmp_path / "host-42_4711.pt.trace.json", trace(*run()))
    assert "host-42" in compare(path, path).stdout
    for environment, flags in (({}, ["--redact"]), ({"DIAGTOOL_REDACT": "1"}, [])):
        hidden = compare(path, path, *flags, **environment).stdout
        assert "host-42" not in hidden
        assert "A  input-1.json" in hidden


MISTAKES = {
    "no target": ([], 2, "compare needs two TARGETs"),
    "one target": (["trace.json"], 2, "compare needs two TARGETs"),
    "absent file": (
        ["trace.json", "tracee.json"],
        2,
        "no such file or directory: tracee.json\nhint: did you mean trace",
    ),
    "empty file": (["trace.json", "empty.json"], 4, "empty.json: the file is empty"),
    "window": (["trace.json", "trace.json", "--window", "step"], 2, "--window is 'step'\nhint: did you mean steps?"),
    "no such report": (["trace.json", "trace.json", "-o", "x.html"], 2, "a comparison has no html report"),
    "a table": (["trace.json", "trace.json", "-o", "kernels.csv"], 2, "a comparison has no csv report"),
    "output is an input": (["trace.json", "steps.json", "-fo", "steps.json"], 2, "steps.json is the input"),
    "output exists": (["trace.json", "steps.json", "-o", "other.json"], 2, "other.json exists\nhint: give --force"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_in_one_clear_line(workplace, mistake):
    arguments, code, message = MISTAKES[mistake]
    before = sorted((path.name, path.stat().st_size) for path in workplace.iterdir())
    done = compare(*arguments, cwd=workplace)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert sorted((path.name, path.stat().st_size) for path in workplace.iterdir()) == before


def test_three_targets_are_a_mistake(workplace):
    done = compare("trace.json", "trace.json", "trace.json", cwd=workplace)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
