"""Holistic Trace Analysis in a venv of its own: it wants an older pandas than diagtool uses."""

import subprocess
import sys
from pathlib import Path

from measure import Command, note

ROOT = Path(__file__).resolve().parents[2]
NAME = "Holistic Trace Analysis"
VERSION = "0.5.0"

_VENV = ROOT / ".venv-bench"
_PYTHON = _VENV / "bin" / "python"
_READY = _VENV / ".ready"
_SCRIPT = Path(__file__).with_name("hta_side.py")
# Its own requirements bring Jupyter and would pin pandas; these are what its analyses import.
_NEEDS = ("pandas<3", "plotly", "networkx", "pydot", "pyyaml", "psutil", "ipython", "numpy", "pytest")
_VERSIONS = "import platform, pandas; print(platform.python_version(), pandas.__version__)"


def install() -> str:
    """Make the venv unless it is there; empty, or why there is none."""
    if _READY.exists():
        return ""
    note(f"installing {NAME} {VERSION} in {_VENV.name}")
    pip = [str(_PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", _VENV], check=True)
        subprocess.run([*pip, "--no-deps", f"holistictraceanalysis=={VERSION}"], check=True)
        subprocess.run([*pip, *_NEEDS], check=True)  # pip says that Jupyter is missing: no analysis needs it
    except subprocess.CalledProcessError as error:
        return f"{NAME} {VERSION} could not be installed (exit code {error.returncode})"
    _READY.touch()
    return ""


def versions() -> str:
    """``Holistic Trace Analysis 0.5.0 with Python 3.11.7 and pandas 2.3.3``."""
    found = subprocess.run([_PYTHON, "-c", _VERSIONS], check=True, capture_output=True, text=True).stdout.split()
    return f"{NAME} {VERSION} with Python {found[0]} and pandas {found[1]}"


def command(path: Path, rank: int) -> Command:
    """Its analyses of one trace."""
    return (_PYTHON, _SCRIPT, str(rank), path.resolve())
