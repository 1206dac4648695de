"""Roofline of attention and linear layers, against sums worked by hand."""

import pytest
from builders import H100, annotation, kernel, launch, timeline

from diagtool import diagnose
from diagtool.hardware.peaks import given
from diagtool.model_shapes import ModelShapes
from diagtool.scope import Scope

# 2 layers, 2 query heads and 1 of keys and values, of 4 numbers each.
MODEL = ModelShapes("tiny", 2, 8, 2, 1, 4, 16, 10)
PEAKS = given("bandwidth=1e12,bf16=1e14")
DECODE = annotation(0, 10, "execute_3_context_0(sq0sk0sqsq0sqsk0)_generation_3(sq3sk30000sqsq3sqsk30000)")
PREFILL = annotation(0, 10, "execute_64_context_1(sq64sk64sqsq4096sqsk4096)_generation_0(sq0sk0sqsq0sqsk0)")


def points(tmp_path, mark, model=MODEL, peaks=PEAKS, attention=10.0, linear=20.0):
    events = [mark, launch(1, 2, id=1), launch(2, 3, id=2), kernel(20, 20 + attention, id=1, name="flash_fwd_kernel"),
              kernel(40, 40 + linear, id=2, name="nvjet_tst_64x8")]  # fmt: skip
    device = H100 if peaks is None else H100 | {"name": "another device"}
    found = diagnose(timeline(tmp_path, *events, deviceProperties=[device]), Scope(model=model, peaks=peaks))
    table = found.table("roofline")
    rows = [dict(zip([c.name for c in table.columns], row, strict=True)) for row in table.rows] if table else []
    return found, {row["part"]: row for row in rows}


def test_decode(tmp_path):
    found, parts = points(tmp_path, DECODE)
    flops = 2 * 2 * 2 * 4 * 2 * 30000  # per layer 2 * q_heads * (d_qk + d_v) * sum(N_Q * N_KV)
    traffic = 30000 * 2 * 2 * 1 * 4 * 2 + 2 * 3 * 2 * 2 * 4 * 2  # keys and values of the contexts; Q and O
    attention = parts["attention"]
    assert attention["achieved"] == pytest.approx(flops / 10e-6)
    assert attention["bandwidth"] == pytest.approx(traffic / 10e-6)
    assert attention["density"] == pytest.approx(flops / traffic)
    assert attention["roof"] == "memory-bandwidth"
    assert attention["fraction"] == pytest.approx(traffic / 1e12 / 10e-6)
    metric = found.metric("roofline.fraction", part="attention")
    assert (metric.value, metric.method) == (attention["fraction"], "modelled")


def test_causal_prefill_does_the_lower_triangle(tmp_path):
    _, parts = points(tmp_path, PREFILL)
    flops = 2 * (2 * 2 * 8 * 4096 - 2 * 8 * 4096)
    assert parts["attention"]["achieved"] == pytest.approx(flops / 10e-6)


def test_linear_layers_read_their_weights_once_a_step(tmp_path):
    _, parts = points(tmp_path, DECODE)
    weights = 2 * (8 * (2 * 2 + 2 * 1) * 4 + 3 * 8 * 16) + 10 * 8
    assert parts["linear"]["achieved"] == pytest.approx(2 * 3 * weights / 20e-6)
    activations = 3 * 2 * (3 * 16 + 4 * 8)
    assert parts["linear"]["bandwidth"] == pytest.approx((weights + activations) * 2 / 20e-6)


def test_devices_that_share_the_model_do_their_share(tmp_path):
    from dataclasses import replace

    _, whole = points(tmp_path, DECODE)
    _, half = points(tmp_path, DECODE, replace(MODEL, tensor_parallel=2))
    assert half["linear"]["achieved"] == pytest.approx(whole["linear"]["achieved"] / 2)


def test_experts_are_read_as_far_as_tokens_reach_them():
    moe = ModelShapes("moe", 1, 8, 2, 1, 4, 16, 10, "bfloat16", experts=8, active_experts=2, expert_size=4)
    assert moe.ffn_weights(1) == pytest.approx(3 * 8 * 4 * 2)
    assert moe.ffn_weights(2) == pytest.approx(3 * 8 * 4 * 8 * (1 - 0.75**2))
    assert moe.ffn_weights(10_000) == pytest.approx(3 * 8 * 4 * 8)
    assert moe.ffn_weights_per_token == 3 * 8 * 8


def test_more_than_the_device_can_do_is_not_printed(tmp_path):
    found, parts = points(tmp_path, DECODE, attention=0.5)
    assert parts["attention"]["fraction"] is None
    assert "not of this model" in found.metric("roofline.fraction", part="attention").reason


def test_bytes_that_fit_the_cache_say_nothing_about_memory(tmp_path):
    found, _ = points(tmp_path, DECODE, peaks=None)  # the datasheet of the H100, with a cache of 50 MiB
    assert "cache" in found.metric("roofline.fraction", part="attention").reason


@pytest.mark.parametrize(
    ("scope", "mark", "reason"),
    [
        (Scope(), DECODE, "give --model"),
        (Scope(model=MODEL, peaks=PEAKS), annotation(0, 10, "ProfilerStep#1"), "do not state the sums"),
    ],
)
def test_what_is_missing_is_said(tmp_path, scope, mark, reason):
    found = diagnose(timeline(tmp_path, mark, launch(1, 2, id=1), kernel(20, 30, id=1)), scope)
    assert reason in found.result("roofline").skipped


def test_an_unknown_device_asks_for_its_peaks(tmp_path):
    built = timeline(tmp_path, DECODE, launch(1, 2, id=1), kernel(20, 30, id=1), deviceProperties=[])
    assert "--peak" in diagnose(built, Scope(model=MODEL)).result("roofline").skipped


def test_kernels_near_a_roof_name_what_bounds_them(tmp_path):
    near = diagnose(
        timeline(tmp_path, DECODE, launch(1, 2, id=1), kernel(20, 21.2, id=1, name="flash_fwd_kernel"),
                 deviceProperties=[H100 | {"name": "another device"}]),
        Scope(model=MODEL, peaks=PEAKS),
    )  # fmt: skip
    assert near.bound_by.resource == "memory-bandwidth"
    assert "80" in near.bound_by.reason


def test_a_peak_that_is_given_takes_the_place_of_the_datasheets(tmp_path):
    from diagtool.context import prepare

    built, context = prepare(timeline(tmp_path, kernel(0, 9)), Scope(peaks=given("bandwidth=1e12")))
    peaks = context.peaks_of(built.devices[0])
    assert (peaks.bandwidth, peaks.flops["bf16"]) == (1e12, 989.4e12)
    assert (peaks.origin_of("bandwidth"), peaks.origin_of("bf16")) == ("given", "datasheet")


def test_experts_where_the_model_has_none(tmp_path):
    events = [DECODE, launch(1, 2, id=1), launch(2, 3, id=2), kernel(20, 30, id=1, name="flash_fwd_kernel"),
              kernel(40, 60, id=2, name="fused_moe_kernel")]  # fmt: skip
    built = timeline(tmp_path, *events, deviceProperties=[H100 | {"name": "another device"}])
    found = diagnose(built, Scope(model=MODEL, peaks=PEAKS))
    assert "the model has none" in found.metric("roofline.fraction", part="linear").reason
    moe = ModelShapes("moe", 2, 8, 2, 1, 4, 16, 10, "bfloat16", experts=8, active_experts=2, expert_size=4)
    found, _ = points(tmp_path, DECODE, model=moe)
    assert "no kernel of theirs ran" in found.metric("roofline.fraction", part="linear").reason
