"""What the whole diagnosis says about real traces, against figures that others published or that were worked out."""

import json

import numpy as np
import pytest

from diagtool import diagnose, intervals, read
from diagtool.analyses.sm_utilization import sm_activity
from diagtool.context import prepare
from diagtool.launch_shapes import shapes
from diagtool.model_shapes import load
from diagtool.scope import Scope

pytestmark = pytest.mark.real_data

INFERENCE = "tracelens/inference"
VLLM_DECODE = f"{INFERENCE}/vllm_decode_full/graph_execution.json.gz"
NVIDIA = (
    "hta/nccl_a100_2rank", "hta/cudagraph_a100_16rank_rank0", "hta/ns_resolution_v100", "hta/diff_control_a100",
    "hta/diff_test_v100_cudagraph", "hta/v100_2rank_large", "hta/alexnet_a100_cuda_sync", "hta/simple_add_a100",
    "hta/cuda_event_sync_a100", "hta/cuda_event_sync_multistream_a100", "hta/hta_overlaid_critical_path",
    "hta/multirank_sampled/rank-0", "hta/multirank_sampled/rank-1", "hta/triton_one_kernel_a100",
    "tracelens/b200/eager_trace", "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005",
    "tracelens/h100/Falconsai_nsfw_image_detection__1016002", "tracelens/h100/gaunernst_bert-small-uncased__1016001",
    "tracelens/h100/facebook_timesformer-base-finetuned-k400__1016002",
    "tracelens/h100/google_owlv2-large-patch14-ensemble__1016001", "param/resnet_rtx2080ti",
    "kineto_tb_plugin/resnet50_num_workers_0.pt.trace", "kineto_tb_plugin/resnet50_num_workers_4.pt.trace",
)  # fmt: skip


def found_in(diagnosis, cause):
    (found,) = [finding for finding in diagnosis.findings if finding.cause == cause]
    return found, {item.what: item.value for item in found.evidence}


@pytest.mark.parametrize("name", NVIDIA)
def test_occupancy_is_the_profilers_where_that_is_right_and_known_where_it_is_zero(traces, name):
    """Kineto writes 0 for every kernel with more than 48 KiB of shared memory."""
    timeline = read(traces / f"{name}.json.gz")
    launched, device = shapes(timeline), timeline.device
    kernel = (device["kind"] == "kernel").to_numpy()
    recorded = device["recorded_occupancy"].to_numpy(dtype=float, na_value=np.nan)
    large = device["dynamic_smem"].to_numpy(dtype=float, na_value=np.nan) > 48 * 1024
    assert np.isfinite(launched.occupancy[kernel]).all()
    assert (launched.occupancy[kernel] > 0).all()
    # Kineto rounds to whole percent, from a number of blocks per SM that the grid may limit.
    small = kernel & ~large & np.isfinite(recorded)
    assert np.abs(launched.grid_limited[small] - recorded[small]).max() <= 0.00501
    filled = small & (launched.waves >= 1)
    if filled.any():
        assert np.abs(launched.occupancy[filled] - recorded[filled]).max() <= 0.00501
    assert (recorded[kernel & large] == 0).all()


def test_every_kernel_that_the_profiler_gives_no_occupancy_has_one(traces):
    count = 0
    for path in sorted(traces.rglob("*.json*")):
        try:
            timeline = read(path)
        except Exception:
            continue
        device = timeline.device
        known = device["recorded_occupancy"].notna().to_numpy()
        large = device["dynamic_smem"].to_numpy(dtype=float, na_value=np.nan) > 48 * 1024
        rows = known & large
        if rows.any():
            count += int(rows.sum())
            assert (shapes(timeline).occupancy[rows] > 0).all(), path
    assert count == 4012


def test_sm_efficiency_and_utilization_are_the_expected_counters(traces):
    """The answer's "Est. SM Efficiency" is ten times blocks per SM, its utilization percent of 1 ms."""
    timeline, context = prepare(read(traces / "kineto_tb_plugin/gpu_metrics_input.json"))
    (window,) = context.windows
    events = json.loads((traces / "kineto_tb_plugin/gpu_metrics_expected.json").read_text())["traceEvents"]
    expected = [
        (event["ts"] * 1000 - timeline.origin_ns, next(iter(event["args"].values())), event["name"])
        for event in events
        if event.get("ph") == "C"
    ]
    efficiency = [(at, value) for at, value, name in expected if "SM Efficiency" in name][2:]
    activity = sm_activity(timeline, window, shapes(timeline).per_sm)
    ours = [
        edge
        for start, end, value in zip(activity.starts, activity.ends, activity.value, strict=True)
        for edge in ((start, 10 * value), (end, 0))
    ]
    assert len(ours) == len(efficiency) == 60
    assert [at for at, _ in ours] == [at for at, _ in efficiency]
    assert [value for _, value in ours] == pytest.approx([value for _, value in efficiency])
    utilization = [(at, value) for at, value, name in expected if "Utilization" in name][2:]
    edges = np.array([at for at, _ in utilization])
    kernels = context.spans(timeline, window, "compute", "communication")
    busy = intervals.covered_between(kernels, edges[:-1], edges[1:])
    assert 100 * busy / np.diff(edges) == pytest.approx([value for _, value in utilization[:-1]])


def test_b200_step(traces):
    """HTA and TraceLens: 22 us of communication. HTA: negative gaps where kernels overlap on a stream."""
    diagnosis = diagnose(read(traces / "tracelens/b200/eager_trace.json.gz"))
    rows = {row[:2]: row[2:4] for row in diagnosis.table("collectives").rows}
    calls, seconds = rows["multimem", "all-reduce"]
    kernels = sum(row[3] for row in diagnosis.table("kernels").rows)
    assert calls == 73
    assert seconds / kernels == pytest.approx(0.195, abs=0.0005)
    assert diagnosis.metric("communication.exposed_fraction").value == pytest.approx(0.0253, abs=0.0005)
    assert diagnosis.metric("launch.overlaps").value == 74
    assert diagnosis.metric("launch.gap_p50_s").value >= 0
    assert diagnosis.findings[0].cause == "host-bound"
    assert "--enforce-eager" in diagnosis.findings[0].fix[0].text
    assert diagnosis.metric("occupancy.theoretical_fraction").value == pytest.approx(0.532, abs=0.001)


def test_one_graph_launch_owns_the_decode_step(traces):
    """HTA matched 0 of its 434 device events with a launch."""
    diagnosis = diagnose(read(traces / VLLM_DECODE))
    assert diagnosis.metric("graph.launches").value == 1
    assert diagnosis.metric("graph.kernels_per_launch_p50").value == 421
    (step,) = [dict(zip([c.name for c in t.columns], t.rows[0], strict=True)) for t in [diagnosis.table("steps")]]
    assert (step["phase"], step["requests"], step["decode tokens"], step["KV tokens"]) == ("decode", 32, 32, 55086)
    assert step["device span"] == pytest.approx(10.743e-3, abs=1e-6)
    assert diagnosis.healthy


def test_eight_ranks_wait_for_the_seventh(traces):
    """gpu-idle 0.1.0: 0 of 8 named; rank 7, for which all others wait, is "smallbatch" 1.0."""
    diagnosis = diagnose(read(traces / "param/dlrm_v100_8rank"))
    straggler, evidence = found_in(diagnosis, "straggler")
    assert diagnosis.findings[0] is straggler
    assert straggler.where == {"rank": 7, "device": 7}
    assert evidence["waiting for the last rank"] == pytest.approx(46.806 / 48.542, abs=1e-4)
    assert evidence["last at the first collective"] == "rank 7"
    ranks = diagnosis.table("collective_ranks").rows
    assert sum(row[2] for row in ranks) == pytest.approx(48.542e-3, abs=1e-6)
    assert sum(row[3] for row in ranks) == pytest.approx(46.806e-3, abs=1e-6)
    assert "exposed-communication" not in {finding.cause for finding in diagnosis.findings}, "that is waiting"


def test_matrix_work_on_plain_cores(traces):
    diagnosis = diagnose(read(traces / "hta/alexnet_a100_cuda_sync.json.gz"))
    _, evidence = found_in(diagnosis, "no-tensor-cores")
    assert evidence["matrix kernels on plain cores"] == pytest.approx(0.439, abs=0.0005)


@pytest.mark.parametrize(
    "name",
    [
        f"{INFERENCE}/vllm_decode_full/graph_execution", f"{INFERENCE}/vllm_prefilldecode_piecewise/graph_execution",
        f"{INFERENCE}/sglang_decode/sglang_Qwen3-8B_decode",
        f"{INFERENCE}/sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode",
        f"{INFERENCE}/xdit_flux.1_aiter_sage/profile_trace_rank_0", "tracelens/b200/eager_trace",
    ],
)  # fmt: skip
def test_nearly_all_kernel_time_has_a_class(traces, name):
    diagnosis = diagnose(read(traces / f"{name}.json.gz"))
    assert diagnosis.metric("kernels.unclassified_fraction").value < 0.05


def test_roofline_of_a_served_model(traces):
    """No outside answer; the figures are the modelled bytes over the datasheet's bandwidth, worked by hand.

    32 requests decode with 32,785 tokens of context: keys and values are 2 * 36 * 8 * 128 * 2 bytes a token.
    """
    path = traces / INFERENCE / "sglang_decode/sglang_Qwen3-8B_decode.json.gz"
    diagnosis = diagnose(read(path), Scope(model=load("qwen3-8b")))
    table = diagnosis.table("roofline")
    attention, linear = (dict(zip([c.name for c in table.columns], row, strict=True)) for row in table.rows)
    context_bytes = 32785 * 2 * 36 * 8 * 128 * 2
    assert attention["bandwidth"] * attention["time"] == pytest.approx(context_bytes, rel=0.01)
    assert (attention["roof"], linear["roof"]) == ("memory-bandwidth", "memory-bandwidth")
    assert attention["fraction"] == pytest.approx(context_bytes / 5.3e12 / attention["time"], rel=0.01)
    assert 0.4 < linear["fraction"] < 0.6


def test_several_marks_of_one_step_count_once(traces):
    """SGLang writes vLLM's mark and its own around one step."""
    diagnosis = diagnose(read(traces / INFERENCE / "sglang_decode/sglang_Qwen3-8B_decode.json.gz"))
    assert diagnosis.metric("steps.count").value == 1
    assert diagnosis.metric("steps.tokens_per_s").value == pytest.approx(32 / 0.47375, rel=1e-3)
