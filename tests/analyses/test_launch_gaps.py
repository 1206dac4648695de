"""Gaps, intervals and delays of launches."""

import pytest
from builders import call, copy, kernel, launch, timeline

from diagtool import diagnose


def metrics(tmp_path, *events):
    found = diagnose(timeline(tmp_path, *events))
    return {metric.name: metric for metric in found.result("launch_gaps").metrics}


def micro(tmp_path, *events):
    return {
        name: None if one.value is None else round(one.value * 1e6, 6)
        for name, one in metrics(tmp_path, *events).items()
    }


def test_gaps_are_per_stream_and_between_kernels(tmp_path):
    found = micro(
        tmp_path, kernel(0, 10), kernel(12, 20), copy(20, 28), kernel(30, 40),
        kernel(5, 50, stream=8), kernel(54, 60, stream=8),
    )  # fmt: skip
    assert (found["launch.gap_p50_s"], found["launch.gap_max_s"]) == (4, 10)
    assert found["launch.overlaps"] == 0


def test_overlaps_count_apart_and_are_no_negative_gaps(tmp_path):
    found = metrics(tmp_path, kernel(0, 100), kernel(10, 20), kernel(95, 110), kernel(112, 120))
    assert found["launch.overlaps"].value == 2
    assert found["launch.gap_p50_s"].value == 0
    assert found["launch.gap_max_s"].value == pytest.approx(2e-6)


def test_intervals_are_start_to_start_on_one_thread(tmp_path):
    found = micro(
        tmp_path,
        launch(0, 4, id=1), launch(10, 14, id=2), launch(13, 15, id=3, tid=9), launch(30, 34, id=4),
        call(20, 21, 8, "cudaEventQuery"),
        *(kernel(40 + 10 * n, 45 + 10 * n, id=n) for n in range(1, 5)),
    )  # fmt: skip
    assert found["launch.interval_p50_s"] == 15
    assert found["launch.delay_p50_s"] == 46


def test_a_graph_has_one_delay(tmp_path):
    found = micro(tmp_path, call(0, 4, 1, "cudaGraphLaunch"), *(kernel(10 * n, 10 * n + 5, id=1) for n in range(1, 9)))
    assert found["launch.delay_p50_s"] == 6


def test_work_that_starts_inside_its_call_has_no_negative_delay(tmp_path):
    assert micro(tmp_path, launch(0, 9, id=1), kernel(5, 7, id=1))["launch.delay_p50_s"] == 0


def test_what_cannot_be_known_says_why(tmp_path):
    found = metrics(tmp_path, kernel(0, 10), copy(12, 13))
    assert found["launch.gap_p50_s"].reason.startswith("too-few-samples")
    assert found["launch.delay_p50_s"].reason.startswith("missing")
    assert found["launch.interval_p50_s"].reason.startswith("missing")
    assert metrics(tmp_path, kernel(5, 9, id=1), launch(0, 1, id=1))["launch.interval_p50_s"].reason.startswith(
        "too-few"
    )
    assert metrics(tmp_path, kernel(0, 1, stream=-1), kernel(2, 3, stream=-1))["launch.gap_max_s"].value is None
