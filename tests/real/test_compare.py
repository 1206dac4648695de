"""Comparisons of real traces: pairs of one model, pairs with nothing in common, and a trace with itself."""

import gzip
import json

import pytest
from builders import write

from diagtool import diagnose, read
from diagtool.comparison import CHANGED, GONE, compare
from diagtool.reports.comparison_text import verdict
from diagtool.scope import WHOLE, Scope

pytestmark = pytest.mark.real_data

WITHOUT_WORKERS = "kineto_tb_plugin/resnet50_num_workers_0.pt.trace.json.gz"
WITH_WORKERS = "kineto_tb_plugin/resnet50_num_workers_4.pt.trace.json.gz"
QWEN = "Qwen_Qwen1.5-0.5B-Chat__1016005"
BERT = "gaunernst_bert-small-uncased__1016001"
VIT = "Falconsai_nsfw_image_detection__1016002"


@pytest.fixture(scope="module")
def diagnosed(traces):
    """Diagnosis of a real trace, made once."""
    known = {}

    def make(name, scope=WHOLE):
        if (name, scope) not in known:
            known[name, scope] = diagnose(read(traces / name), scope)
        return known[name, scope]

    return make


def by_name(changes):
    return {change.name: change for change in changes}


@pytest.mark.parametrize("scope", [WHOLE, Scope(window="steps")], ids=["device", "steps"])
def test_workers_end_the_waiting_for_data(diagnosed, scope):
    """77 % of the idle time was inside the loader, and 3 % after; the kernels are those they were."""
    found = compare(diagnosed(WITHOUT_WORKERS, scope), diagnosed(WITH_WORKERS, scope))
    assert (found.unit.text, found.unit.before, found.unit.after, found.unit.calls_ratio) == ("step", 6, 6, 1)
    assert verdict(found).startswith("B takes 20.")
    assert found.total.before.seconds_per_unit == pytest.approx(177e-3, abs=3e-3)
    assert found.total.after.seconds_per_unit == pytest.approx(140e-3, abs=3e-3)
    assert by_name(found.findings)["data-loading"].state == GONE
    accounting = by_name(found.accounting)
    assert accounting["idle host"].change_s < -30e-3
    assert abs(accounting["compute"].change_s) < found.floor_s


@pytest.mark.parametrize(("side", "kernels"), [("before", 8772), ("after", 8868)])
def test_kernels_are_counted_per_step(diagnosed, side, kernels):
    found = compare(diagnosed(WITHOUT_WORKERS), diagnosed(WITH_WORKERS))
    assert sum(getattr(change, side).calls_per_unit for change in found.kernel_classes) == pytest.approx(kernels / 6)


def test_other_device_other_rank_and_graphs(diagnosed):
    found = compare(diagnosed("hta/diff_control_a100.json.gz"), diagnosed("hta/diff_test_v100_cudagraph.json.gz"))
    assert found.refused == ()
    assert found.unit.text == "step"
    assert verdict(found) == "B takes 60.2 % longer per step: 124.2 ms instead of 77.53 ms."
    assert found.notes[0] == "the devices differ: NVIDIA A100-PG509-200 in A, Tesla V100-SXM2-16GB in B"
    assert found.notes[1] == "the ranks differ: 3 in A, 1 in B"
    assert "per step B makes 14.7 % more calls of the kernels both have" in found.notes[2]
    classes = by_name(found.kernel_classes)
    assert classes["GEMM"].state == CHANGED
    assert by_name(found.findings)["no-tensor-cores"].before is None


def test_one_call_fewer_of_a_short_kernel_is_no_change(diagnosed):
    found = compare(diagnosed("hta/compare_base.json.gz"), diagnosed("hta/compare_test.json.gz"))
    assert (found.unit.text, found.changed) == ("step", False)
    (fewer,) = [c for c in found.kernels if c.before.calls != c.after.calls]
    assert (fewer.before.calls, fewer.after.calls) == (3, 2)


@pytest.mark.parametrize("model", [QWEN, BERT, VIT])
def test_two_makers_devices_are_joined_by_operators(diagnosed, model):
    found = compare(*(diagnosed(f"tracelens/{device}/{model}.json.gz") for device in ("h100", "mi300")))
    assert (found.unit.text, found.unit.basis) == ("step", "operators")
    assert found.unit.agreement > 0.9
    assert found.notes[0].startswith("the devices differ: NVIDIA H100 80GB HBM3 in A, AMD Instinct MI300X")
    assert {change.state for change in found.kernels} >= {"new", GONE}


UNRELATED = (
    (WITHOUT_WORKERS, f"tracelens/h100/{QWEN}.json.gz", "hardly anything in common"),
    (f"tracelens/h100/{BERT}.json.gz", f"tracelens/h100/{VIT}.json.gz", "no unit of work is common to both"),
    (f"tracelens/mi300/{BERT}.json.gz", f"tracelens/h100/{VIT}.json.gz", "no unit of work is common to both"),
    (
        "tracelens/h100/facebook_timesformer-base-finetuned-k400__1016002.json.gz",
        "tracelens/h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
        "no unit of work is common to both",
    ),
    (
        "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz",
        "tracelens/inference/sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz",
        "different phases",
    ),
    (
        "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz",
        "tracelens/inference/vllm_decode_full/graph_execution.json.gz",
        "no unit of work is common to both",
    ),
    ("hta/diff_control_a100.json.gz", "hta/cudagraph_a100_16rank_rank0.json.gz", "no unit of work is common to both"),
    ("hta/multirank_sampled", "param/dlrm_v100_8rank", "over 2 devices, one of B over 8 devices"),
    (WITHOUT_WORKERS, "hta/no_gpu_events.json.gz", "B holds no device work"),
)  # fmt: skip


@pytest.mark.parametrize(("first", "second", "reason"), UNRELATED)
def test_what_has_nothing_in_common_is_not_compared(diagnosed, first, second, reason):
    for names in ((first, second), (second, first)):
        found = compare(*map(diagnosed, names))
        assert found.unit is None
        assert len(found.refused) == 1
    found = compare(diagnosed(first), diagnosed(second))
    assert reason in found.refused[0]
    assert found.total.change_s is None


@pytest.mark.parametrize(
    "name",
    [
        WITHOUT_WORKERS, "hta/diff_test_v100_cudagraph.json.gz", f"tracelens/mi300/{QWEN}.json.gz",
        "param/dlrm_v100_8rank", "param/resnet_rtx2080ti.json.gz", "tracelens/b200/eager_trace.json.gz",
        "tracelens/inference/vllm_decode_full/graph_execution.json.gz", "tracelens/mi210/gpu_only_trace.json.gz",
    ],
)  # fmt: skip
def test_a_trace_and_itself(diagnosed, name):
    found = compare(diagnosed(name), diagnosed(name))
    assert (found.refused, found.changed, found.total.change_s) == ((), False, 0.0)
    assert verdict(found).startswith("Nothing changed")


@pytest.mark.parametrize("name", ["hta/diff_control_a100.json.gz", "hta/nccl_a100_2rank.json.gz"])
def test_fewer_steps_of_one_trace_cost_the_same_per_step(diagnosed, name):
    found = compare(diagnosed(name, Scope(window="steps")), diagnosed(name, Scope(steps=(1, 3))))
    assert (found.unit.text, found.unit.after) == ("step", 2)
    assert verdict(found).startswith("Nothing changed")
    assert found.total.after.seconds_per_unit == pytest.approx(found.total.before.seconds_per_unit, rel=0.02)


def test_steps_of_a_host_that_runs_ahead_hold_less_work_at_first(diagnosed):
    """The first marks lie before the work they launch: per mark the whole holds less work than its end."""
    name = "hta/ns_resolution_v100.json.gz"
    found = compare(diagnosed(name, Scope(window="steps")), diagnosed(name, Scope(steps=(2, 5))))
    assert "more calls of the kernels both have" in found.notes[0]


DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


@pytest.fixture(scope="module")
def cut(traces, tmp_path_factory):
    """A recording that ended with its third step, with or without the work that the device had not done by then."""

    def make(name, *, finished):
        data = json.loads(gzip.decompress((traces / name).read_bytes()))
        spans = [event for event in data["traceEvents"] if event.get("ph") == "X"]
        end = sorted(e["ts"] + e["dur"] for e in spans if e["name"].startswith("ProfilerStep"))[2]
        on_host = [event for event in spans if event["cat"] not in DEVICE and event["ts"] < end]
        launched = {event.get("args", {}).get("correlation") for event in on_host}
        on_device = [
            event
            for event in spans
            if event["cat"] in DEVICE
            and (event["args"].get("correlation") in launched if finished else event["ts"] < end)
        ]
        data["traceEvents"] = [e for e in data["traceEvents"] if e.get("ph") != "X"] + on_host + on_device
        return diagnose(read(write(tmp_path_factory.mktemp("cut") / "shorter.json", data)))

    return make


def test_a_shorter_recording_costs_the_same_per_step(diagnosed, cut):
    name = "hta/ns_resolution_v100.json.gz"
    found = compare(diagnosed(name), cut(name, finished=True))
    assert (found.unit.text, found.unit.before, found.unit.after) == ("step", 5, 3)
    assert verdict(found).startswith("Nothing changed")


def test_work_that_was_cut_off_is_noticed_and_calls_are_counted(diagnosed, cut):
    """Three steps are marked and the work of two was done: per step the capture would look a third faster."""
    name = "hta/ns_resolution_v100.json.gz"
    found = compare(diagnosed(name), cut(name, finished=False))
    assert found.unit.what == "call"
    assert found.passed_over[0].startswith("their steps do different work: only 8.3 % of the operators")
    assert found.total.after.seconds_per_unit == pytest.approx(found.total.before.seconds_per_unit, rel=0.06)
