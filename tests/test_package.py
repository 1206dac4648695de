"""The package as others get it: light to import, whole in a wheel, usable without torch."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("torch", "triton", "pandas", "numpy", "pynvml", "nvtx", "msgspec", "isal")


def python(code, *arguments, interpreter=sys.executable, cwd=None):
    return subprocess.run([interpreter, *arguments, "-c", code], capture_output=True, text=True, cwd=cwd, check=False)


def loaded_by(statement):
    done = python(f"{statement}\nimport sys; print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_the_command_line_loads_nothing_heavy():
    assert not loaded_by("import diagtool.cli.app") & {*HEAVY, "rich"}


def test_what_gate_and_report_need_loads_nothing_heavy():
    assert not loaded_by("import diagtool, diagtool.diagnosis, diagtool.metrics, diagtool.config") & {*HEAVY, "rich"}


def test_diagnosing_loads_neither_torch_nor_triton():
    assert not loaded_by("from diagtool import diagnose, read") & {"torch", "triton", "rich"}


def test_public_names_stay_functions_after_their_modules_are_loaded():
    done = python(
        "import diagtool, diagtool.run_analyses, diagtool.readers\n"
        "from diagtool import diagnose, read\n"
        "print(callable(diagnose), callable(read), callable(diagtool.diagnose))"
    )
    assert done.stdout.split() == ["True"] * 3, done.stderr


def test_unknown_public_names_are_refused():
    assert "has no attribute 'nothing'" in python("import diagtool; diagtool.nothing").stderr


WITHOUT_TORCH = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "triton"):
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Hidden())
sys.argv = ["diagtool", *sys.argv[1:]]
from diagtool.cli.app import main
main()
"""


@pytest.mark.parametrize("arguments", [["profile", "tests/data/decode_eager.json.gz"], ["explain", "starved"]])
def test_works_where_torch_is_absent(arguments):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *arguments], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_the_wheel_has_everything_and_runs_with_the_light_requirements(tmp_path):
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    binaries = tmp_path / "env" / "bin"
    install = [binaries / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for step in (["--no-deps", wheel], ["-r", ROOT / "requirements-light.txt"]):
        done = subprocess.run([*install, *step], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    for arguments in (["--help"], ["profile", "--help"], ["explain", "--help"], ["doctor", "--help"], ["doctor"],
                      ["explain", "host-bound"], ["compare", "--help"],
                      ["profile", ROOT / "tests/data/decode_eager.json.gz", "-q", "-o", "page.html"]):  # fmt: skip
        done = subprocess.run(
            [binaries / "diagtool", *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), arguments
        assert done.stdout
    page = (tmp_path / "page.html").read_text()
    assert "</style>" in page
    assert page.count("</script>") >= 2, "the scripts travel with the package"
    done = python(
        "import diagtool.kernels, diagtool; print(diagtool.__file__)", interpreter=binaries / "python", cwd=tmp_path
    )
    assert str(tmp_path) in done.stdout, done.stderr


def test_light_requirements_are_the_ordinary_ones_without_what_runs_models():
    import tomllib

    ordinary = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    lines = (ROOT / "requirements-light.txt").read_text().splitlines()
    light = {line for line in lines if line and not line.startswith("#")}
    assert light < ordinary
    assert {line.split(">=")[0] for line in ordinary - light} == {"torch", "triton", "nvtx", "nvidia-ml-py"}


def test_no_file_or_function_outgrows_its_reader():
    import ast

    for path in [*(ROOT / "diagtool").rglob("*.py"), *(ROOT / "kernels").rglob("*.py")]:
        text = path.read_text()
        assert text.count("\n") <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno <= 55, f"{path}: {node.name}"


def test_sample_traces_are_what_their_builder_makes(tmp_path):
    from builders import write
    from samples import GPU_SAMPLE, gpu_trace

    assert write(tmp_path / "again.json.gz", gpu_trace()).read_bytes() == GPU_SAMPLE.read_bytes()
