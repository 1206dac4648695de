"""The command line as a process: streams, exit codes, and one clear line for each mistake."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from builders import healthy, kernel, trace, write
from samples import CPU_SAMPLE, GPU_SAMPLE
from test_diagnosis import SCHEMA

PLAIN = {key: value for key, value in os.environ.items() if not key.startswith("DIAGTOOL_")} | {"NO_COLOR": "1"}


def run(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "diagtool", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, env=PLAIN | environment, timeout=120, check=False,
    )  # fmt: skip


def test_report_on_stdout_and_nothing_else(tmp_path):
    done = run("profile", GPU_SAMPLE, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the host cannot feed it" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [("--json",), ("-o", "json:-")])
def test_json_and_nothing_else_on_stdout(arguments):
    done = run("profile", GPU_SAMPLE, *arguments)
    data = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert (done.returncode, done.stderr, data["findings"][0]["cause"]) == (0, "", "host-bound")


def test_reports_to_files_beside_the_terminal(tmp_path):
    done = run("profile", GPU_SAMPLE, "-o", "a.json", "-o", "terminal:b.report", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.splitlines() == ["Wrote a.json", "Wrote b.report"]
    assert (tmp_path / "b.report").read_text() == done.stdout
    again = run("profile", tmp_path / "a.json", cwd=tmp_path)
    assert again.stdout == done.stdout


def test_quiet_says_nothing_on_stderr(tmp_path):
    assert run("profile", GPU_SAMPLE, "-q", "-o", "a.json", cwd=tmp_path).stderr == ""


def test_a_trace_without_device_work_is_done_and_says_so():
    done = run("profile", CPU_SAMPLE)
    assert done.returncode == 0
    assert "No verdict" in done.stdout
    assert "no device events" in " ".join(done.stdout.split())


def test_redacted_reports_name_no_file_or_path(tmp_path):
    secret = tmp_path / "host-42_gpu"
    secret.mkdir()
    events = [
        *healthy(),
        kernel(0, 1, name="/home/alice/project/model.py(3): forward") | {"cat": "python_function", "dur": -1},
    ]
    path = write(secret / "host-42_4711.pt.trace.json", trace(*events))
    plain = run("profile", path, "--json").stdout
    assert "host-42" in plain
    assert "alice" in plain
    for environment, flags in (({}, ["--redact"]), ({"DIAGTOOL_REDACT": "1"}, [])):
        hidden = run("profile", path, "--json", *flags, **environment).stdout
        assert "host-42" not in hidden
        assert "alice" not in hidden
        assert json.loads(hidden)["source"]["files"] == ["input-1.json"]
        jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(hidden))


MISTAKES = {
    "no target": (["profile"], 2, "profile needs a TARGET"),
    "absent file": (["profile", "tracee.json"], 2, "file or directory: tracee.json\nhint: did you mean trace.json?"),
    "absent folder": (["profile", "nowhere/trace.json"], 2, "no such file or directory: nowhere/trace.json"),
    "empty file": (["profile", "empty.json"], 4, "empty.json: the file is empty"),
    "text": (["profile", "notes.txt"], 4, "notes.txt: not a PyTorch profiler trace"),
    "folder without traces": (["profile", "folder"], 4, "no trace in folder: 0 files"),
    "broken diagnosis": (["profile", "broken.json"], 4, "a damaged diagnosis"),
    "window": (["profile", "trace.json", "--window", "step"], 2, "--window is 'step'\nhint: did you mean steps?"),
    "report format": (["profile", "trace.json", "-o", "jsn:x"], 2, "report format 'jsn'\nhint: did you mean json?"),
    "extension": (["profile", "trace.json", "-o", "x.yaml"], 2, "no report format for 'x.yaml'"),
    "report without a file": (["profile", "trace.json", "-o", "json:"], 2, "'json:' names no file"),
    "output exists": (["profile", "trace.json", "-o", "json:empty.json"], 2, "empty.json exists\nhint: give --force"),
    "output is the input": (["profile", "trace.json", "-fo", "trace.json"], 2, "trace.json is the input"),
    "output folder": (["profile", "trace.json", "-o", "no/x.json"], 2, "no such directory: no"),
    "output is a folder": (["profile", "trace.json", "-o", "json:folder"], 2, "folder is a directory"),
    "two on stdout": (["profile", "trace.json", "--json", "-o", "-"], 2, "two reports cannot share stdout"),
    "same output twice": (["profile", "trace.json", "-o", "a.json", "-o", "a.json"], 2, "two reports would be written"),
    "same output spelt otherwise": (["profile", "trace.json", "-o", "a.json", "-o", "./a.json"], 2, "two reports"),
    "output inside the input": (["profile", ".", "-fo", "json:notes.txt"], 2, "notes.txt is the input"),
    "empty name": (["profile", ""], 2, "an empty TARGET"),
    "unknown home": (["profile", "~nobody-here/x"], 2, "no such file or directory: ~nobody-here/x"),
    "endless output": (["profile", "trace.json", "-o", "x" * 300 + ".json"], 2, "cannot write xxx"),
    "pipe": (["profile", "/dev/null"], 4, "a pipe or device, not a file"),
    "empty window": (["profile", "trace.json", "--window", ""], 2, "--window is ''"),
    "endless name": (["profile", "x" * 300], 2, "no such file or directory: xxx"),
    "unknown word": (["explain", "host-bond"], 2, "nothing is called 'host-bond'\nhint: did you mean host-bound?"),
}  # fmt: skip


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    write(folder / "trace.json", trace(*healthy()))
    (folder / "empty.json").touch()
    (folder / "notes.txt").write_text("notes")
    (folder / "folder").mkdir()
    (folder / "broken.json").write_text('{"schema": 1, "source": {}}')
    return folder


BENT_TABLE = {"name": "accounting", "title": "t", "columns": [{"name": "a", "unit": "s"}], "rows": [["x"]]}


@pytest.mark.parametrize(
    "change",
    [
        {"findings": [{"cause": "x"}]}, {"bound_by": 5}, {"window": "long"}, {"results": [{}]},
        {"results": [{"analysis": "a", "metrics": [], "findings": [], "skipped": "", "tables": [BENT_TABLE]}]},
    ],
)  # fmt: skip
def test_a_diagnosis_that_was_bent_is_refused(tmp_path, change):
    whole = json.loads(run("profile", GPU_SAMPLE, "--json").stdout)
    bent = tmp_path / "bent.json"
    bent.write_text(json.dumps(whole | change))
    done = run("profile", bent)
    assert done.returncode == 4
    assert "a damaged diagnosis" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_name_that_is_not_text(tmp_path):
    path = os.fsencode(tmp_path) + b"/tr\xff.json"
    write(tmp_path / "t.json", trace(*healthy()))
    (tmp_path / "t.json").rename(os.fsdecode(path))
    done = subprocess.run(
        [sys.executable, "-m", "diagtool", "profile", path, "--json"], capture_output=True, env=PLAIN, check=False
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["source"]["files"][0].endswith("json")


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_in_one_clear_line(workplace, mistake):
    arguments, code, message = MISTAKES[mistake]
    before = sorted((path.name, path.stat().st_size) for path in workplace.iterdir())
    done = run(*arguments, cwd=workplace)
    assert done.returncode == code
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert sorted((path.name, path.stat().st_size) for path in workplace.iterdir()) == before


@pytest.mark.parametrize("arguments", [("profile", "--windw", "x"), ("prfile",), ("doctor", "extra")])
def test_usage_errors_end_in_2(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_output_that_cannot_be_written():
    done = run("profile", GPU_SAMPLE, "-o", "json:/dev/full")
    assert done.returncode == 2
    assert "cannot write /dev/full" in done.stderr


@pytest.mark.parametrize("arguments", [("profile", GPU_SAMPLE), ("explain",), ("doctor",)])
def test_a_full_or_closed_stdout_is_one_clear_line(arguments):
    words = " ".join(map(str, arguments))
    for redirection, code, line in ((">/dev/full", 2, "cannot write to stdout"), (">&-", 0, ""), ("2>&-", 0, "")):
        command = f"{sys.executable} -m diagtool {words} {redirection}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=PLAIN, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
        assert line in done.stderr


def test_json_for_a_terminal_that_knows_only_ascii(tmp_path):
    path = write(tmp_path / "t.json", trace(*healthy(), kernel(0, 1, name="kärnel") | {"dur": -1}))
    done = run("profile", path, "--json", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "kärnel" in json.loads(done.stdout)["source"]["lost"][0]["detail"]


def test_a_wrong_setting_names_the_right_one(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.diagtool]\nwindw = 'steps'\n")
    done = run("profile", GPU_SAMPLE, cwd=tmp_path)
    assert done.returncode == 2
    assert "unknown key 'windw' in [tool.diagtool]" in done.stderr
    assert "did you mean window?" in done.stderr


def test_a_setting_is_a_default_that_a_flag_overrides(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.diagtool]\nwindow = 'steps'\n")
    kinds = [
        json.loads(run("profile", GPU_SAMPLE, "--json", *flags, cwd=tmp_path).stdout)["window"]["kind"]
        for flags in ([], ["--window", "device"])
    ]
    assert kinds == ["steps", "device"]


def test_a_reader_that_has_seen_enough_is_no_error():
    command = (
        f"{sys.executable} -m diagtool profile {GPU_SAMPLE} --json | (exec 0<&-; sleep 2); echo ' ' ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=PLAIN, check=False)
    assert done.stdout.split()[-1] == "0"
    assert done.stderr == ""


def test_an_internal_error_is_called_a_bug(tmp_path):
    program = "import diagtool.workflows.targets as t; from diagtool.cli.app import main; import sys\n"
    program += "t.diagnose_targets = lambda *a, **k: 1 / 0\nsys.argv = ['diagtool', 'profile', '.']\nmain()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=PLAIN, check=False)
    assert done.returncode == 5
    assert "this is a bug in diagtool" in done.stderr


def test_interrupted():
    program = "import diagtool.workflows.targets as t; from diagtool.cli.app import main; import sys\n"
    program += "def stop(*a, **k): raise KeyboardInterrupt\nt.diagnose_targets = stop\n"
    program += "sys.argv = ['diagtool', 'profile', '.']\nmain()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=PLAIN, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [(), ("profile",), ("explain",), ("doctor",)])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_has_an_example(arguments, flag):
    done = run(*arguments, flag, COLUMNS="80")
    assert done.returncode == 0
    assert "Example: diagtool" in done.stdout


def test_version():
    from diagtool import __version__

    assert run("--version").stdout == f"diagtool {__version__}\n"


def test_explain_lists_and_prints():
    listed = run("explain").stdout
    assert "  host-bound" in listed
    assert "  device.busy_fraction" in listed
    assert run("explain", "host-bound").stdout.startswith("# host-bound")
    assert "Unit: fraction" in run("explain", "device.busy_fraction").stdout
    assert run("explain", "queue").stdout.startswith("# idle.queue_fraction")
    assert max(map(len, listed.splitlines())) <= 80


def test_doctor_says_what_is_missing_and_the_fix():
    done = run("doctor")
    assert done.returncode == 0
    states = {line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")}
    assert states <= {"ok", "warn", "missing"}
    checks = json.loads(run("doctor", "--json").stdout)["checks"]
    assert {check["name"] for check in checks} >= {"read traces", "torch", "GPU", "hardware counters"}
    assert all(check["fix"] for check in checks if check["state"] == "missing" and check["name"] != "hardware counters")


def test_completion_of_names():
    program = Path(sys.executable).parent / "diagtool"
    asked = PLAIN | {"_DIAGTOOL_COMPLETE": "complete_bash", "COMP_WORDS": "diagtool explain host", "COMP_CWORD": "2"}
    done = subprocess.run([program], capture_output=True, text=True, env=asked, check=False)
    assert done.stdout.split() == ["host-bound"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["profile", GPU_SAMPLE], 0), (["profile", GPU_SAMPLE, "-o", "markdown:-"], 0),
        (["compare", GPU_SAMPLE, GPU_SAMPLE], 0), (["compare", GPU_SAMPLE, CPU_SAMPLE], 3),
    ],
)  # fmt: skip
def test_a_reader_that_leaves_does_not_change_the_exit_code(arguments, code):
    process = subprocess.Popen(
        [sys.executable, "-m", "diagtool", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    process.stdout.close()
    assert process.wait(timeout=120) == code
    assert process.stderr.read() == b""
    process.stderr.close()


def test_settings_are_for_traces_and_do_not_hold_up_a_finished_diagnosis(tmp_path):
    run("profile", GPU_SAMPLE, "-o", "d.json", "-q", cwd=tmp_path)
    settled = {"DIAGTOOL_WINDOW": "steps", "DIAGTOOL_MODEL": "qwen3-8b"}
    assert run("profile", "d.json", cwd=tmp_path, **settled).returncode == 0
    asked = run("profile", "d.json", "--steps", "0:1", cwd=tmp_path)
    assert (asked.returncode, asked.stdout) == (2, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "9:"], "no steps 9: in the trace"), (["--steps", "x"], "--steps is 'x'"),
        (["--rank", "3"], "no rank 3 in the trace"), (["--device", "3"], "no device 3 in the trace"),
        (["--model", "gpt-9"], "neither a preset nor a config.json"), (["--peak", "bw=1"], "'bw' is no peak"),
        (["-o", "kernal.csv"], "has no table 'kernal'"), (["-o", "csv:-"], "holds one table"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_clear_line_and_prints_no_report(tmp_path, options, message):
    done = run("profile", GPU_SAMPLE, *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert list(tmp_path.iterdir()) == []


def test_the_page_of_a_redacted_trace_names_no_file_and_no_path(tmp_path):
    secret = tmp_path / "secret-host.json"
    write(secret, trace(*healthy(), kernel(1, 2, name="void k(/home/ann/x.h)")))
    outputs = ["-o", "r.html", "-o", "r.md", "-o", "kernels.csv"]
    assert run("profile", secret, "--redact", *outputs, "-q", cwd=tmp_path).returncode == 0
    for name in ("r.html", "r.md", "kernels.csv"):
        text = (tmp_path / name).read_text()
        assert "secret-host" not in text
        assert "/home/ann" not in text
