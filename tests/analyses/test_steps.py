"""Steps: duration, tokens, phase, outliers; and what belongs to a step."""

import pytest
from builders import annotation, kernel, launch, step, timeline

from diagtool import diagnose
from diagtool.scope import Scope

DECODE = "execute_2_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk300sqsq2sqsk300)"
PREFILL = "execute_64_context_1(sq64sk64sqsq4096sqsk4096)_generation_0(sq0sk0sqsq0sqsk0)"


def rows(found):
    table = found.table("steps")
    return [dict(zip([column.name for column in table.columns], row, strict=True)) for row in table.rows]


def test_a_step_owns_what_was_launched_inside_it_wherever_it_runs(tmp_path):
    found = diagnose(
        timeline(tmp_path, annotation(0, 10, DECODE), annotation(10, 20, PREFILL), launch(5, 6, id=1),
                 launch(12, 13, id=2), kernel(50, 80, id=1), kernel(80, 180, id=2), kernel(180, 190))
    )  # fmt: skip
    decode, prefill = rows(found)
    assert (decode["phase"], decode["decode tokens"], decode["KV tokens"], decode["requests"]) == ("decode", 2, 300, 2)
    assert (prefill["phase"], prefill["prefill tokens"], prefill["kernels"]) == ("prefill", 64, 1)
    assert (decode["host"], decode["device span"]) == (pytest.approx(10e-6), pytest.approx(30e-6))
    assert (decode["duration"], prefill["duration"]) == (pytest.approx(30e-6), pytest.approx(100e-6))
    assert found.metric("steps.count").value == 2
    assert found.metric("steps.duration_p50_s").value == pytest.approx(65e-6)
    assert found.metric("steps.tokens_per_s").value == pytest.approx(66 / 130e-6)


def test_a_step_longer_on_the_host_lasts_as_long_as_its_mark(tmp_path):
    found = diagnose(timeline(tmp_path, step(0, 100), launch(5, 6, id=1), kernel(10, 30, id=1), kernel(30, 40)))
    assert found.metric("steps.duration_p50_s").value == pytest.approx(100e-6)
    assert found.metric("steps.busy_p50_fraction").value == pytest.approx(0.2)
    assert found.metric("steps.tokens_per_s").reason == "missing: the step marks do not state their tokens"


def test_a_servers_marks_count_and_not_those_around_them(tmp_path):
    found = diagnose(
        timeline(tmp_path, step(0, 100), annotation(5, 40, DECODE), annotation(6, 39, "step[DECODE bs=2]"),
                 annotation(50, 90, DECODE), kernel(20, 30))
    )  # fmt: skip
    assert [row["step"] for row in rows(found)] == [DECODE, DECODE]


def test_outliers_are_marked_within_their_phase(tmp_path):
    lengths = [100, 100, 100, 300, 100, 100]
    events, at = [kernel(0, 5)], 0
    for length in lengths:
        events.append(step(at, at + length))
        at += length
    found = diagnose(timeline(tmp_path, *events))
    assert [row["note"] for row in rows(found)] == ["", "", "", "outlier", "", ""]
    assert found.metric("steps.outliers").value == 1
    few = diagnose(timeline(tmp_path, step(0, 10), step(10, 90), kernel(0, 5)))
    assert few.metric("steps.outliers").reason == "too-few-samples: 2 steps"


def test_no_marks_no_steps(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(0, 5)))
    assert found.table("steps") is None
    assert found.metric("steps.count").value == 0
    assert found.metric("steps.duration_p50_s").reason == "missing: no step marks"


def test_a_range_of_steps_is_the_window(tmp_path):
    events = [step(at, at + 90, number) for number, at in enumerate(range(0, 500, 100))]
    work = [kernel(at + 10, at + 60) for at in range(0, 500, 100)]
    found = diagnose(timeline(tmp_path, *events, *work), Scope(steps=(1, 3)))
    assert [row["step"] for row in rows(found)] == ["ProfilerStep#1", "ProfilerStep#2"]
    assert (found.window.kind, found.window.seconds) == ("steps", pytest.approx(190e-6))
    assert found.metric("device.busy_fraction").value == pytest.approx(100 / 190)
    assert found.metric("kernels.count").value == 2


def test_what_a_token_costs_needs_to_know_who_shares_the_model(tmp_path):
    from diagtool.model_shapes import load

    alone = [annotation(0, 100, DECODE), launch(5, 6, id=1), kernel(10, 90, id=1)]
    found = diagnose(timeline(tmp_path, *alone))
    assert found.metric("steps.device_s_per_token").value == pytest.approx(50e-6)
    shared = [*alone, kernel(90, 95, name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)")]
    assert "tp=N" in diagnose(timeline(tmp_path, *shared)).metric("steps.device_s_per_token").reason
    given = diagnose(timeline(tmp_path, *shared), Scope(model=load("qwen3-8b,tp=4")))
    assert given.metric("steps.device_s_per_token").value == pytest.approx(200e-6)


def test_steps_of_which_most_have_no_work_are_doubted(tmp_path):
    events = [step(at, at + 9, at) for at in range(0, 60, 10)]
    found = diagnose(timeline(tmp_path, *events, launch(1, 2, id=1), kernel(3, 8, id=1)))
    (doubt,) = [one for one in found.findings if one.cause == "trace-integrity"]
    assert [item.value for item in doubt.evidence] == [5, 6]
