"""What users of other tools reported, one test for each report that is about reading a trace.

The names are those of the reports. What was said there stands in the docstring, what is right in the test.
"""

import gzip
import json

import numpy as np
import pytest
from builders import H100, call, kernel, launch, op, recording, step, trace, write

from diagtool import diagnose, read
from diagtool.errors import DiagtoolError

INFERENCE = "tracelens/inference"


def values(diagnosis):
    return [metric.value for result in diagnosis.results for metric in result.metrics if metric.value is not None]


def doubts(diagnosis):
    return [finding for finding in diagnosis.findings if finding.cause == "trace-integrity"]


def text_of(*events, **header):
    return json.dumps(trace(*events, **header))


@pytest.mark.real_data
def test_hta_317_rounding_makes_negative_durations(traces):
    """Whole microseconds: negative durations, and 18 times the idle time of a decode step."""
    timeline = read(traces / "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz")
    lengths = timeline.device["end_ns"] - timeline.device["start_ns"]
    assert (lengths > 0).all()
    assert (lengths < 1000).sum() == 184
    step_ = diagnose(read(traces / INFERENCE / "vllm_decode_full/graph_execution.json.gz"))
    assert step_.metric("time.idle_fraction").value == pytest.approx(25.5e-6 / 10.743e-3, rel=0.01)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "launched"),
    [
        (f"{INFERENCE}/vllm_decode_full/graph_execution", 434),
        (f"{INFERENCE}/vllm_prefilldecode_piecewise/graph_execution", 423), ("hta/mi250_rocm62", 16),
        ("tracelens/b200/eager_trace", 929), ("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005", 1707 - 509),
    ],
)  # fmt: skip
def test_hta_290_launches_of_graphs_drivers_and_hip_are_matched(traces, name, launched):
    """0 of 434, 0 of 423, 0 of 16, 708 of 929, 1197 of 1707."""
    from diagtool.context import prepare
    from diagtool.launches import NO_LAUNCH

    _, context = prepare(read(traces / f"{name}.json.gz"))
    assert np.count_nonzero(context.launches != NO_LAUNCH) == launched


@pytest.mark.real_data
def test_tracelens_728_a_busy_graph_step_is_not_idle(traces):
    """26 % (or 99 %) idle on a graph decode that is 99 % busy."""
    found = diagnose(read(traces / INFERENCE / "vllm_decode_full/graph_execution.json.gz"))
    assert found.metric("device.busy_fraction").value == pytest.approx(0.9976, abs=1e-4)


def test_tracelens_728_replays_that_lack_kernels_are_doubted(tmp_path):
    """The profiler under-records replays: kernels per launch of one graph vary."""
    events = []
    for id, kernels in ((1, 5), (2, 1), (3, 5)):
        events.append(call(id * 100, id * 100 + 2, id, "cudaGraphLaunch"))
        events += [kernel(id * 100 + 5 + n, id * 100 + 6 + n, id=id, **{"graph id": 7}) for n in range(kernels)]
    found = diagnose(read(write(tmp_path / "t.json", trace(*events))))
    (doubt,) = [one for one in doubts(found) if "lack kernels" in one.title]
    assert {item.what: item.value for item in doubt.evidence}["graphs that launched different numbers of kernels"] == 1


def test_tracelens_669_durations_of_seconds(tmp_path):
    """7 of 55,423 events ran into the next and became 62 % of the device's time."""
    sound = [event for n in range(50) for event in (launch(n * 10, n * 10 + 2, id=n + 1),
                                                    kernel(n * 10 + 3, n * 10 + 9, id=n + 1))]  # fmt: skip
    broken = [*sound[:41], {**sound[41], "dur": 5_000_000.0}, *sound[42:]]
    whole, found = (diagnose(read(write(tmp_path / "t.json", trace(*events)))) for events in (sound, broken))
    assert doubts(found)
    assert found.metric("device.busy_fraction").value == pytest.approx(
        whole.metric("device.busy_fraction").value, abs=0.02
    )


def test_tracelens_972_all_work_in_two_of_32_steps(tmp_path):
    """1,591 device events in two steps, one of them 99 % of the time, and "idle 0.04 %"."""
    events = [step(n * 100, n * 100 + 99, n) for n in range(32)]
    events += [launch(5, 6, id=1), kernel(10, 60, id=1), launch(105, 106, id=2), kernel(110, 160, id=2)]
    found = diagnose(read(write(tmp_path / "t.json", trace(*events))))
    (doubt,) = [one for one in doubts(found) if "no recorded device work" in one.title]
    assert [item.value for item in doubt.evidence] == [30, 32]
    assert not found.healthy


@pytest.mark.real_data
def test_tracelens_610_events_without_a_length(traces):
    """KeyError."""
    timeline = read(traces / "kineto_tb_plugin/resnet50_num_workers_0.pt.trace.json.gz")
    assert (timeline.device["end_ns"] == timeline.device["start_ns"]).sum() == 636
    assert diagnose(timeline).metric("kernels.count").value == 8772


@pytest.mark.real_data
def test_tracelens_60_collectives_are_matched_by_order_and_not_by_id(traces):
    """KeyError where ranks have different external ids."""
    found = diagnose(read(traces / "param/dlrm_v100_8rank"))
    assert len(found.table("collective_ranks").rows) == 8


@pytest.mark.real_data
def test_tracelens_279_nothing_is_asserted_of_an_input(traces):
    """AssertionError on a trace; here every file is diagnosed or refused."""
    for path in sorted(traces.rglob("*.json*")):
        if path.stat().st_size < 300_000:
            try:
                diagnose(read(path))
            except DiagtoolError as error:
                assert error.message


def test_hta_337_metadata_alone(tmp_path):
    """KeyError 'dur'."""
    only_names = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]
    with pytest.raises(DiagtoolError, match="no host call or device work"):
        read(write(tmp_path / "t.json", {"traceEvents": only_names}))


@pytest.mark.parametrize(
    "info", [{}, {"distributedInfo": {}}, {"distributedInfo": None}, {"distributedInfo": {"rank": "x"}}]
)
def test_hta_16_no_rank(tmp_path, info):
    """Crash without kernels, rank or distributedInfo."""
    found = diagnose(read(write(tmp_path / "t.json", trace(kernel(0, 9)) | info)))
    assert found.metric("device.busy_fraction", rank="0").value == 1


def test_hta_233_what_is_no_trace_is_named(tmp_path):
    """Empty or cryptic results."""
    (tmp_path / "t.json").write_text('{"schema": "1.0.2-chakra.0.0.4", "nodes": []}')
    with pytest.raises(DiagtoolError, match="Chakra"):
        read(tmp_path / "t.json")


@pytest.mark.real_data
def test_hta_59_work_launched_before_the_window(traces):
    """A negative queue length; here that work is counted, and said to be."""
    found = diagnose(read(traces / "hta/cudagraph_a100_16rank_rank0.json.gz"))
    assert 0.1 < found.metric("trace.launched_before_fraction").value < 0.2
    assert min(values(found)) >= 0


@pytest.mark.parametrize("name", ['say "hi"', "C:\\new\\table", "tab\there", "bell\x07", "line\nbreak"])
def test_pytorch_113001_unescaped_characters(tmp_path, name):
    """The whole file is unreadable."""
    raw = text_of(op(0, 5, "@@"), kernel(0, 9), kernel(9, 20)).replace("@@", name)
    (tmp_path / "t.json").write_text(raw)
    timeline = read(tmp_path / "t.json")
    assert len(timeline.device) == 2


def test_pytorch_130622_names_that_are_no_utf8(tmp_path):
    """The whole file is unreadable."""
    (tmp_path / "t.json").write_bytes(text_of(op(0, 5, "@@"), kernel(0, 9)).encode().replace(b"@@", b"\xff\xfe"))
    assert len(read(tmp_path / "t.json").device) == 1


def test_kineto_1336_log_lines_behind_the_events(tmp_path):
    """Arrays of warnings break the JSON."""
    whole = text_of(kernel(0, 9)).rstrip("}")
    (tmp_path / "t.json").write_text(whole + ', "WARNING": ["a" "b", ERROR:2024-01-01 x.cpp:1] "]}')
    assert len(read(tmp_path / "t.json").device) == 1


@pytest.mark.parametrize("packed", [False, True])
def test_chakra_192_a_file_that_was_cut(tmp_path, packed):
    """ "Unterminated string"."""
    whole = text_of(*(kernel(n * 10, n * 10 + 9) for n in range(200))).encode()
    whole = gzip.compress(whole) if packed else whole
    (tmp_path / "t.json").write_bytes(whole[: len(whole) * 2 // 3])
    timeline = read(tmp_path / "t.json")
    assert 60 < len(timeline.device) < 200
    assert timeline.source.lost
    assert doubts(diagnose(timeline))


def test_pytorch_188481_half_of_the_events_at_time_zero(tmp_path):
    """A timeline of 15 days, or of 50 years."""
    real = [kernel(1.7e15 + n * 10, 1.7e15 + n * 10 + 9) for n in range(20)]
    lost = [kernel(0, 0) for _ in range(20)]
    found = diagnose(read(write(tmp_path / "t.json", trace(*real, *lost))))
    assert found.window.seconds == pytest.approx(199e-6, rel=0.01)
    assert found.metric("trace.lost_events").value == 20


def test_ascend_133_times_as_text(tmp_path):
    """Microseconds of 1.7e15 as text lose their nanoseconds."""
    event = kernel(0, 0) | {"ts": "1712195495505583.123", "dur": "4.928"}
    timeline = read(write(tmp_path / "t.json", trace(event)))
    assert (timeline.device["end_ns"] - timeline.device["start_ns"]).tolist() == [4928]
    assert timeline.origin_ns == 1712195495505583123


@pytest.mark.parametrize("end", [-5.0, -1e15])
def test_parcagpu_23_ends_before_starts(tmp_path, end):
    """Durations below zero are averaged with the others."""
    found = diagnose(
        read(write(tmp_path / "t.json", trace(kernel(0, 9), kernel(9, 18) | {"dur": end}, kernel(20, 30))))
    )
    assert found.metric("kernels.count").value == 2
    assert doubts(found)
    assert min(values(found)) >= 0


@pytest.mark.real_data
def test_kineto_1354_collectives_without_metadata(traces):
    """Message sizes and groups are missing on the kernels; then they are unknown."""
    table = diagnose(read(traces / "hta/v100_2rank_large.json.gz")).table("collectives")
    assert [row[5] for row in table.rows] == [None] * len(table.rows)


@pytest.mark.real_data
def test_kineto_1398_copies_on_another_stream_number(traces):
    """ROCm shows copies on stream 0; nothing is inferred from that."""
    found = diagnose(read(traces / "hta/mi250_rocm62.json.gz"))
    assert found.metric("device.busy_fraction").value == pytest.approx(149.0 / 8911.9, abs=1e-3)


def test_xpu_5284_kernels_without_stream_and_grid(tmp_path):
    """KeyError 'stream'."""
    bare = kernel(0, 9)
    bare["args"] = {"device": 0, "correlation": 1}
    found = diagnose(read(write(tmp_path / "t.json", trace(launch(-5, -4, id=1), bare))))
    assert found.metric("device.busy_fraction").value == 1
    assert found.metric("launch.overlaps").reason == "missing: device events state no stream"
    assert found.metric("sm.utilization_fraction").reason == "missing: the launches do not state their grid"


@pytest.mark.real_data
def test_kineto_136_kernels_that_overlap_on_a_stream(traces):
    """Gaps below zero are summed, and viewers drop the kernel."""
    found = diagnose(read(traces / "tracelens/b200/eager_trace.json.gz"))
    assert found.metric("launch.overlaps").value == 74
    assert found.metric("kernels.count").value == 768


def test_kineto_888_a_bracket_in_the_name_of_the_trace(tmp_path):
    """Tools that edit the text break on it."""
    data = trace(kernel(0, 9), traceName="run[1].json]}")
    assert len(read(write(tmp_path / "t.json", data)).device) == 1


@pytest.mark.real_data
def test_occupancy_of_kernels_with_much_shared_memory(traces):
    """12.7 % where the zeros are averaged in, 28.5 % without those kernels; it is the mean over all of them."""
    found = diagnose(read(traces / "tracelens/b200/eager_trace.json.gz"))
    assert found.metric("occupancy.theoretical_fraction").value > 0.285
    assert found.metric("occupancy.grid_limited_fraction").value > 0.127


@pytest.mark.real_data
def test_work_without_a_link_to_the_host_is_counted(traces):
    """34.9 ms in all, 31.9 ms busy: 30 % of the device's time is dropped."""
    found = diagnose(read(traces / "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"))
    assert found.window.seconds == pytest.approx(49.653e-3, abs=1e-6)
    assert found.metric("device.busy_fraction").value * found.window.seconds == pytest.approx(45.647e-3, abs=1e-6)
    assert found.metric("trace.launched_before_fraction").value == pytest.approx(0.30, abs=0.01)


def test_an_operator_with_a_stream_is_no_device_work(tmp_path):
    """A Triton operator of 74 us with args.stream is counted as device time."""
    odd = op(0, 74, "triton_poi_fused_add_0", args={"stream": 7, "grid": [1, 1, 1]})
    timeline = read(
        write(tmp_path / "t.json", trace(odd, kernel(100, 110), recording(0, 200), deviceProperties=[H100]))
    )
    assert len(timeline.device) == 1
