"""What the name of a step mark states, in the spellings that servers write."""

import pytest

from diagtool.readers import step_marks


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ProfilerStep#12", "ProfilerStep"), ("execute_context_1(888_788544)_generation_0(0)", "vllm"),
        ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)", "vllm"),
        ("step[DECODE bs=32]", "sglang"), ("execute_diffusion_1_256x256", "diffusion"), ("forward", None),
        ("my_execute_context_1", None), ("execute_new_2_cached_30", "vllm"),
    ],
)  # fmt: skip
def test_kinds(name, kind):
    assert step_marks.kind(name) == kind


def test_sums_of_both_phases():
    name = "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_generation_37(sq37sk34489sqsq37sqsk34489)"
    assert step_marks.sums(name) == {
        "prefill_sum_q": 8155, "prefill_sum_kv": 8430, "prefill_sum_q2": 7475785, "prefill_sum_q_kv": 7671310,
        "decode_sum_q": 37, "decode_sum_kv": 34489, "decode_sum_q2": 37, "decode_sum_q_kv": 34489, "running": 46,
    }  # fmt: skip


@pytest.mark.parametrize("prefill", ["888_788544", "888"])
def test_the_short_spelling_says_nothing_of_contexts(prefill):
    sums = step_marks.sums(f"execute_context_1({prefill})_generation_2(5)")
    assert (sums["prefill_sum_q"], sums["decode_sum_q"], sums["running"]) == (888, 5, 3)
    assert ("prefill_sum_q2" in sums) == ("_" in prefill)
    assert not {"prefill_sum_kv", "decode_sum_kv"} & set(sums)


def test_a_phase_without_tokens_has_no_context_either():
    sums = step_marks.sums("execute_context_0(0)_generation_2(2)")
    assert (sums["prefill_sum_kv"], sums["prefill_sum_q_kv"]) == (0, 0)
    assert "decode_sum_kv" not in sums


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        ("step[DECODE bs=32]", {"running": 32, "prefill_sum_q": 0, "decode_sum_q": 32}),
        ("step[EXTEND bs=15 toks=15360]", {"running": 15, "prefill_sum_q": 15360, "decode_sum_q": 0}),
        ("step[EXTEND bs=15]", {"running": 15}), ("step[MIXED bs=4 toks=9]", {"running": 4}),
        ("step[IDLE bs=0]", {"running": 0}), ("execute_new_2_cached_30", {"running": 32}), ("step[what]", {}),
        ("ProfilerStep#3", {}),
        ("execute_context_1(x)_generation_0(0)", {}), (f"step[DECODE bs={'9' * 400}]", {}),
    ],
)  # fmt: skip
def test_what_a_name_does_not_state_is_absent(name, sums):
    assert step_marks.sums(name) == sums


def test_columns_hold_none_where_a_mark_is_silent():
    assert step_marks.columns(["step[DECODE bs=2]", "ProfilerStep#1"]) == {
        "running": [2, None], "prefill_sum_q": [0, None], "decode_sum_q": [2, None],
    }  # fmt: skip
    assert step_marks.columns(["ProfilerStep#1"]) == {}
