"""Where other tools are wrong on real traces: what they printed stands beside what is right.

Their figures were read off their output in November 2026.
"""

import gzip
import json

import pytest
from builders import write

from diagtool import diagnose, read

pytestmark = pytest.mark.real_data


def causes(diagnosis):
    return [finding.cause for finding in diagnosis.findings]


def serious(diagnosis):
    return [finding.cause for finding in diagnosis.findings if finding.severity != "info"]


def test_exposed_communication_on_a_busy_device(traces):
    """gpu-idle 0.1.0: "No bottleneck found", 93 % busy."""
    diagnosis = diagnose(read(traces / "tracelens/mi300/resnet_act_checkpoint.json.gz"))
    assert diagnosis.metric("time.communication_fraction").value == pytest.approx(0.643, abs=0.001)
    assert diagnosis.window.seconds == pytest.approx(86.57e-3, abs=1e-5)
    assert causes(diagnosis)[0] == "exposed-communication"
    assert diagnosis.bound_by.resource == "communication"


@pytest.mark.parametrize(
    "name",
    [
        "no_gpu_events",
        "cpu_only_gloo_rank34",
        "no_distributedinfo",
        "distributedinfo_without_rank",
        "cupti_range_counters_a100",
    ],
)
def test_no_device_events_is_no_verdict(traces, name):
    """gpu-idle 0.1.0: "smallbatch", confidence 1.0, 0 kernels."""
    diagnosis = diagnose(read(traces / "hta" / f"{name}.json.gz"))
    assert diagnosis.findings == ()
    assert not diagnosis.healthy
    assert diagnosis.window is None
    assert "no device events" in diagnosis.result("time_accounting").skipped


def test_data_loading_in_a_trace_of_2021(traces):
    """gpu-idle 0.1.0: traceback."""
    folder = traces / "kineto_tb_plugin"
    without, with_workers = (
        diagnose(read(folder / f"resnet50_num_workers_{count}.pt.trace.json.gz"), window="steps") for count in (0, 4)
    )
    first = without.findings[0]
    assert first.cause == "data-loading"
    loader = {item.what: item.value for item in first.evidence}["inside the loader"]
    assert loader == pytest.approx(0.771, abs=0.001)
    assert "data-loading" not in causes(with_workers)
    default = diagnose(read(folder / "resnet50_num_workers_0.pt.trace.json.gz"))
    assert default.findings[0].cause == "data-loading"
    assert "data-loading" not in causes(diagnose(read(folder / "resnet50_num_workers_4.pt.trace.json.gz")))


@pytest.mark.parametrize("duration", [-500_000, 3_600_000_000])
@pytest.mark.parametrize("which", [0, 100, 244])
def test_an_impossible_duration_is_named_and_changes_nothing_else(traces, tmp_path, duration, which):
    """gpu-idle 0.1.0: "GPU busy -3414 %" and "24904877 % ... No bottleneck found"."""
    path = traces / "param/dlrm_v100_8rank/worker0_step_12.1694128201545.pt.trace.json.gz"
    whole = diagnose(read(path))
    data = json.loads(gzip.decompress(path.read_bytes()))
    kernels = [event for event in data["traceEvents"] if event.get("cat") == "kernel"]
    one = kernels[which]
    one["dur"] = duration
    broken = diagnose(read(write(tmp_path / "broken.json", data)))
    (doubt,) = [finding for finding in broken.findings if finding.cause == "trace-integrity"]
    assert one["name"][:200] in repr(doubt.evidence)
    busy, before = (d.metric("device.busy_fraction").value for d in (broken, whole))
    assert 0 <= busy <= 1
    assert busy == pytest.approx(before, abs=0.001)
    assert causes(broken)[0] == causes(whole)[0]


def test_the_step_outside_the_device_window_is_said(traces):
    """A device window alone is 99 % busy and hides 222 of the 382 ms of the step."""
    diagnosis = diagnose(read(traces / "tracelens/h100/facebook_timesformer-base-finetuned-k400__1016002.json.gz"))
    assert diagnosis.metric("device.busy_fraction").value == pytest.approx(0.990, abs=0.001)
    assert diagnosis.metric("window.outside_s").value == pytest.approx(0.2225, abs=0.0005)
    assert diagnosis.window.judged_outside_s == pytest.approx(0.2225, abs=0.0005)
    assert (serious(diagnosis), diagnosis.bound_by.resource) == (["host-bound"], "host")
    assert diagnosis.findings[0].lost_fraction == pytest.approx(0.58, abs=0.01)


@pytest.mark.parametrize(
    ("name", "busy"),
    [
        ("vllm_decode_full/graph_execution", 99.76), ("vllm_prefilldecode_piecewise/graph_execution", 99.76),
        ("sglang_decode/sglang_Qwen3-8B_decode", 2.06), ("sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode", 49.92),
    ],
)  # fmt: skip
def test_serving_traces_have_a_verdict(traces, name, busy):
    """gpu-idle 0.1.0 refuses all of them: it needs ProfilerStep."""
    diagnosis = diagnose(read(traces / "tracelens/inference" / f"{name}.json.gz"))
    assert diagnosis.metric("device.busy_fraction").value * 100 == pytest.approx(busy, abs=0.01)


def test_multimem_all_reduce_is_communication(traces):
    """HTA and TraceLens count 22 us of communication on this step."""
    diagnosis = diagnose(read(traces / "tracelens/b200/eager_trace.json.gz"))
    assert diagnosis.metric("time.communication_fraction").value == pytest.approx(0.025, abs=0.0005)
    assert causes(diagnosis)[0] == "host-bound"
    assert "--enforce-eager" in diagnosis.findings[0].fix[0].text


def test_a_graph_decode_step_is_healthy(traces):
    """HTA 0.5.0 rounds to microseconds: 4.26 % idle where 0.24 % is true."""
    diagnosis = diagnose(read(traces / "tracelens/inference/vllm_decode_full/graph_execution.json.gz"))
    assert round(diagnosis.metric("device.busy_fraction").value * 100, 2) == 99.76
    assert serious(diagnosis) == []
    assert diagnosis.healthy


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("hta/chakra_et_not_a_timeline.json.gz", "a Chakra execution trace"),
        ("hta/memory_timeline_not_a_trace.raw.gz", "a PyTorch memory timeline"),
        ("tracelens/rocprofv3_908_results.json.gz", "an rocprofv3 result"),
        ("tracelens/inference/vllm_decode_full/capture_traces/execution_details.json", "JSON without traceEvents"),
        ("proton/cuda.json", "a Proton profile"),
        ("nsys_ai/mock.sqlite", "an Nsight Systems SQLite export"),
        ("../memory/sketchkv2/my_snapshot.pickle", "a pickle"),
    ],
)
def test_other_files_are_refused_by_name(traces, name, title):
    from diagtool.errors import UnsupportedFormat

    with pytest.raises(UnsupportedFormat, match=title):
        read(traces / name)


def test_eight_ranks(traces):
    diagnosis = diagnose(read(traces / "param/dlrm_v100_8rank"))
    assert [metric.labels["rank"] for metric in diagnosis.metrics("device.busy_fraction")] == list("01234567")
    assert diagnosis.source.lost == ()


def test_tokens_and_environments_never_reach_a_report(traces):
    from diagtool.diagnosis import to_json

    text = to_json(diagnose(read(traces / "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz")))
    assert "HF_TOKEN" not in text
    assert "metadata" not in text
