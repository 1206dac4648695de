"""Compiling, tuning, loading code: what a warm recording does not hold."""

import pytest
from builders import call, kernel, python, step, timeline

from diagtool import diagnose


def test_kinds_of_start_up_work(tmp_path):
    found = diagnose(
        timeline(tmp_path, step(0, 100), step(100, 200, 2), call(10, 30, 1, "cudaModuleLoadData"),
                 python(40, 60, "torch/_dynamo/convert_frame.py(1): compile"),
                 python(45, 55, "triton/compiler/compiler.py(225): compile"),
                 python(70, 71, "triton/compiler/compiler.py(487): launch_metadata"), kernel(80, 90))
    )  # fmt: skip
    rows = {row[0]: row[1:4] for row in found.table("start_up").rows}
    assert rows == {"compile": (2, pytest.approx(20e-6), pytest.approx(20e-6)),
                    "load code": (1, pytest.approx(20e-6), pytest.approx(20e-6))}  # fmt: skip
    assert found.metric("start_up.time_s").value == pytest.approx(40e-6)
    assert found.metric("start_up.compiling_steps").value == 1


def test_a_warm_recording_has_none(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(80, 90)))
    assert found.metric("start_up.time_s").value == 0
    assert found.metric("start_up.compiling_steps").reason == "missing: no step marks"
    assert found.table("start_up") is None
