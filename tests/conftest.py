"""Fixtures and options that every test shares."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Runs are the same each time, and slow only when the code is: two busy cores are no failure.
settings.register_profile("diagtool", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("diagtool")


def real_data() -> Path | None:
    """The folder of real data, when there is one."""
    folder = os.environ.get("DIAGTOOL_DATA", "")
    return Path(folder) if folder and Path(folder).is_dir() else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if real_data() is None:
        missing = pytest.mark.skip(reason="needs DIAGTOOL_DATA, the folder of real traces")
        for item in items:
            if item.get_closest_marker("real_data"):
                item.add_marker(missing)


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real traces."""
    folder = real_data()
    assert folder is not None
    return folder / "traces"


def reference_spans() -> dict[str, tuple[float, float]]:
    """Busy time and span in us of every real Kineto trace that has an independent answer, from its SOURCES.md."""
    folder = real_data()
    if folder is None:
        return {}
    answers: dict[str, tuple[float, float]] = {}
    prefix = ""
    for line in (folder / "traces" / "SOURCES.md").read_text().splitlines():
        if line.startswith("## "):
            prefix = line.split()[1] if line.split()[1].endswith("/") else ""
        row = re.match(r"\| `([^`]+)` \|", line)
        found = re.search(r"\| ([\d.]+)/([\d.]+) = [\d.]+% \|", line)
        if row and found and prefix:
            answers[prefix + row[1]] = (float(found[1]), float(found[2]))
    return answers
