"""Kineto traces of every age and maker become the same tables."""

import json

import pytest
from builders import (
    H100,
    annotation,
    call,
    copy,
    event,
    kernel,
    launch,
    memset,
    op,
    python,
    recording,
    step,
    timeline,
    trace,
    write,
)

from diagtool import diagnose, read
from diagtool.errors import UnreadableInput


def rows(frame, *columns):
    return frame[list(columns)].values.tolist()


def test_host_and_device_rows(tmp_path):
    found = timeline(
        tmp_path,
        op(0, 10), python(0, 20), annotation(0, 5, "x"), launch(2, 4, id=7), kernel(6, 9, id=7), copy(10, 11.5, id=8),
        memset(12, 13, id=9), event("overhead", "Buffer Flush", 1, 2, pid=-1, tid=0),
    )  # fmt: skip
    assert sorted(rows(found.host, "kind", "name")) == [
        ["launch", "cudaLaunchKernel"], ["op", "aten::mm"], ["other", "Buffer Flush"],
        ["python", "model.py(12): forward"], ["range", "x"],
    ]  # fmt: skip
    assert rows(found.device, "kind", "start_ns", "end_ns", "correlation", "stream", "device") == [
        ["kernel", 6000, 9000, 7, 7, 0], ["copy", 10000, 11500, 8, 7, 0], ["set", 12000, 13000, 9, 7, 0],
    ]  # fmt: skip
    first = found.device.iloc[0]
    assert (first["blocks"], first["threads"], first["registers"], first["dynamic_smem"]) == (132, 128, 96, 32768)
    assert first["recorded_occupancy"] == 0.31
    assert found.device["bytes"].tolist()[1:] == [4096, 512]


@pytest.mark.parametrize(
    ("category", "table", "kind"),
    [
        ("Kernel", "device", "kernel"), ("Memcpy", "device", "copy"), ("Memset", "device", "set"),
        ("mtia_ccp_events", "device", "kernel"), ("Operator", "host", "op"), ("Runtime", "host", "other"),
        ("cuda_driver", "host", "other"), ("mtia_runtime", "host", "other"), ("xpu_runtime", "host", "other"),
        ("privateuse1_driver", "host", "other"),
    ],
)  # fmt: skip
def test_categories_of_every_age_and_maker(tmp_path, category, table, kind):
    found = timeline(tmp_path, op(0, 1), event(category, "thing", 5, 6))
    assert [kind] == getattr(found, table)["kind"].tolist()[-1:]


@pytest.mark.parametrize(
    "category", ["gpu_user_annotation", "ac2g", "cuda_sync", "fwdbwd", "cuda_profiler_range", None]
)
def test_other_categories_are_neither_host_nor_device_work(tmp_path, category):
    found = timeline(tmp_path, op(0, 1), event(category, "thing", 5, 6))
    assert (len(found.host), len(found.device)) == (1, 0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernelExC", "launch"), ("cuLaunchKernelEx", "launch"), ("hipGraphLaunch", "launch"),
        ("cudaStreamSynchronize", "sync"), ("hipDeviceSynchronize", "sync"), ("cudaMemcpyAsync", "copy"),
        ("hipMemcpyWithStream", "copy"), ("cudaEventQuery", "other"), ("cudaMalloc", "other"),
    ],
)  # fmt: skip
def test_kind_of_runtime_calls(tmp_path, name, kind):
    assert timeline(tmp_path, call(0, 1, 1, name)).host["kind"].tolist() == [kind]


def test_an_operator_with_a_stream_is_host_work(tmp_path):
    found = timeline(tmp_path, op(0, 9, "triton_poi", args={"stream": 7, "grid": [1, 1, 1]}), kernel(1, 2))
    assert len(found.device) == 1


def test_annotations_of_2021_have_the_category_of_operators(tmp_path):
    found = timeline(tmp_path, event("Operator", "ProfilerStep#5", 0, 9), event("Operator", "aten::mm", 1, 2))
    assert found.host["kind"].tolist() == ["range", "op"]
    assert rows(found.steps, "kind", "name") == [["ProfilerStep", "ProfilerStep#5"]]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ProfilerStep#12", "ProfilerStep"),
        ("execute_context_1(888_788544)_generation_0(0)", "vllm"),
        ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)", "vllm"),
        ("step[DECODE bs=32]", "sglang"),
        ("execute_diffusion_1_256x256", "diffusion"),
    ],
)
def test_step_marks(tmp_path, name, kind):
    found = timeline(tmp_path, annotation(3, 9, name), kernel(4, 5))
    assert rows(found.steps, "kind", "name", "start_ns", "end_ns") == [[kind, name, 0, 6000]]


def test_absolute_stamps_and_stamps_relative_to_a_base_agree(tmp_path):
    absolute = timeline(tmp_path, kernel(1_712_151_111_375_829, 1_712_151_111_375_830))
    relative = timeline(tmp_path, kernel(375_829, 375_830), baseTimeNanoseconds=1_712_151_111_000_000_000)
    assert absolute.origin_ns == relative.origin_ns == 1_712_151_111_375_829_000
    assert absolute.device.equals(relative.device)


@pytest.mark.parametrize("shape", [str, float, lambda stamp: f" {stamp}.0 "])
def test_stamps_as_text_or_decimals(tmp_path, shape):
    base = timeline(tmp_path, op(100, 110), kernel(120, 130, id=1))
    items = (op(100, 110), kernel(120, 130, id=1))
    other = timeline(tmp_path, *(item | {"ts": shape(item["ts"]), "dur": shape(item["dur"])} for item in items))
    assert base.device.equals(other.device)
    assert base.host.equals(other.host)


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ({"ts": None}, "events without a usable ts or dur"), ({"ts": "soon"}, "events without a usable ts or dur"),
        ({"dur": []}, "events without a usable ts or dur"), ({"dur": 1e30}, "events without a usable ts or dur"),
        ({"ts": 1e30}, "events without a usable ts or dur"), ({"dur": -5}, "events that end before they start"),
    ],
)  # fmt: skip
def test_events_without_a_time_are_counted(tmp_path, bad, what):
    found = timeline(tmp_path, kernel(0, 1, name="good"), kernel(5, 9, name="bad") | bad)
    assert found.device["name"].tolist() == ["good"]
    assert [(loss.what, loss.count, loss.detail) for loss in found.source.lost] == [(what, 1, "bad")]


@pytest.mark.parametrize("value", [None, "x", [], {}, 1.5, True, 10**30, -1])
@pytest.mark.parametrize(
    "field",
    ["correlation", "stream", "device", "grid", "block", "registers per thread", "shared memory",
     "est. achieved occupancy %", "graph id"],
)  # fmt: skip
def test_a_mistyped_argument_costs_only_itself(tmp_path, field, value):
    found = timeline(tmp_path, kernel(0, 1, id=3), kernel(2, 3, id=4, **{field: value}), kernel(4, 5, id=5))
    assert len(found.device) == 3
    assert found.device["correlation"].tolist()[::2] == [3, 5]
    assert found.device["stream"].tolist()[::2] == [7, 7]


@pytest.mark.parametrize("field", ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args"])
@pytest.mark.parametrize("value", ["absent", None, 7, "x", [], {}, 1.5, True])
def test_a_mistyped_field_costs_at_most_its_event(tmp_path, field, value):
    broken = kernel(2, 3, id=4) | {field: value}
    if value == "absent":
        del broken[field]
    found = timeline(tmp_path, kernel(0, 1, id=3), broken, kernel(4, 5, id=5), launch(0, 1, id=3))
    assert {3, 5} <= set(found.device["correlation"])
    assert len(found.host) == 1


def test_named_processes_and_threads_are_kept_apart(tmp_path):
    found = timeline(
        tmp_path, op(0, 1, tid="a"), op(1, 2, tid="b"), op(2, 3, tid="a"), op(3, 4, pid="p"), op(4, 5, tid=None)
    )
    threads = found.host["thread"].tolist()
    assert threads[0] == threads[2] != threads[1]
    assert threads[4] == -1
    assert min(threads[:2]) < -1


def test_stray_zero_stamps_are_left_out_and_counted(tmp_path):
    far = 1_700_000_000_000_000
    found = timeline(tmp_path, *(kernel(far + n, far + n + 1) for n in range(5)), *(kernel(0, 0) for _ in range(5)))
    assert len(found.device) == 5
    assert int(found.device["end_ns"].max()) == 5000
    assert [(loss.what, loss.count) for loss in found.source.lost] == [("device events with a time stamp of 0", 5)]


def test_records_without_time_and_length_are_lost_ones(tmp_path):
    found = timeline(
        tmp_path, *(kernel(5_000_000 + n, 5_000_001 + n) for n in range(5)), *(kernel(0, 0) for _ in range(5))
    )
    assert len(found.device) == 5
    assert found.source.lost[0].count == 5


def test_a_trace_that_starts_at_zero_is_whole(tmp_path):
    found = timeline(tmp_path, kernel(0, 1), kernel(500, 501))
    assert len(found.device) == 2
    assert found.source.lost == ()


def test_header_facts(tmp_path):
    events = (kernel(0, 1), step(0, 1), recording(-5, 9))
    found = timeline(tmp_path, *events, rank=3, cuda_runtime_version=12080, metadata={"HF_TOKEN": "secret"})
    device = found.devices[0]
    assert (device.rank, device.name, device.sms, device.compute_capability) == (3, "NVIDIA H100 80GB HBM3", 132, "9.0")
    assert found.environment == {"events": 3, "cuda_runtime_version": 12080}
    assert found.recording_ns == {3: (-5000, 9000)}
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    "properties", [None, 5, "x", [], [5], [{}], [{"id": "0", "name": 7, "numSms": "many"}], {"id": 0}]
)
def test_odd_device_properties(tmp_path, properties):
    found = timeline(tmp_path, kernel(0, 1), deviceProperties=properties)
    assert len(found.devices) == 1
    assert found.devices[0].sms is None


@pytest.mark.parametrize("info", [None, 5, [], {}, {"rank": None}, {"rank": "0"}, {"rank": -4}, {"rank": 1.5}])
def test_odd_ranks_are_unknown(tmp_path, info):
    assert set(timeline(tmp_path, kernel(0, 1), distributedInfo=info).device["rank"]) == {0}


def test_odd_versions_are_numbers_or_absent(tmp_path):
    found = timeline(
        tmp_path,
        kernel(0, 1),
        with_stack=True,
        cuda_runtime_version="12",
        deviceProperties=[{"id": 0, "numSms": -5, "computeMajor": True}],
    )
    assert found.environment == {"events": 1, "with_stack": 1}
    assert (found.devices[0].sms, found.devices[0].compute_capability) == (None, None)
    assert type(found.environment["with_stack"]) is int


@pytest.mark.parametrize(("ts", "dur"), [(-4.6e15, 1), (4.6e15, 4.6e15), (2e15, 9e14), (-2e15, 1)])
def test_stamps_at_the_end_of_time_overflow_nothing(tmp_path, ts, dur):
    found = timeline(tmp_path, kernel(0, 1), kernel(0, 1) | {"ts": ts, "dur": dur}, kernel(2e15, 2e15 + 1))
    assert (found.device["end_ns"] >= found.device["start_ns"]).all()
    diagnose(found)


def test_only_metadata_is_refused(tmp_path):
    path = write(tmp_path / "t.json", trace({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}))
    with pytest.raises(UnreadableInput, match="no host call or device work with a time among 1 event"):
        read(path)


def test_names_that_look_like_markup_survive(tmp_path):
    name = "aten[kernel]/x [red]<b>\\n</b>"
    assert timeline(tmp_path, kernel(0, 1, name=name)).device["name"].tolist() == [name]


def test_server_is_recognised(tmp_path):
    marks = (annotation(0, 1, "step[DECODE bs=1]"), annotation(0, 1, "execute_context_0(0)_generation_1(1)"))
    for events, server in (
        ((step(0, 1),), None),
        (marks, "sglang"),
        (marks[1:], "vllm"),
        ((python(0, 1, "vllm/v1/worker/gpu_worker.py(1): execute"),), "vllm"),
    ):
        assert timeline(tmp_path, kernel(0, 1), *events).environment.get("server") == server


def test_reading_leaves_the_file_alone(tmp_path):
    path = write(tmp_path / "t.json", trace(kernel(0, 1)))
    before = path.read_bytes()
    read(path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["t.json"]
    assert json.loads(before)["traceEvents"]


def test_shapes_and_devices_that_cannot_be_are_unknown(tmp_path):
    odd = [kernel(0, 1, grid=[10**400, 1, 1]), kernel(2, 3, grid=[0, 1, 1]), kernel(4, 5, block=[10**400, 10**400, 1])]
    found = timeline(tmp_path, *odd, deviceProperties=[H100 | {"numSms": 10**9}])
    assert found.device["blocks"].isna().tolist() == [True, True, False]
    assert found.device["threads"].isna().tolist() == [False, False, True]
    assert found.devices[0].sms is None
