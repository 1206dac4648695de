"""What an idle device waited for, interval by interval."""

import pytest
from builders import (
    annotation,
    call,
    copy,
    healthy,
    kernel,
    launch,
    memset,
    op,
    python,
    recording,
    step,
    sync,
    timeline,
)  # fmt: skip
from hypothesis import given
from hypothesis import strategies as st

from diagtool import diagnose
from diagtool.analyses.idle_split import split
from diagtool.context import prepare
from diagtool.diagnosis import Source
from diagtool.metrics import IDLE_CLASSES
from diagtool.scope import Scope
from diagtool.timeline import Timeline


def idle(*events, tmp_path, window="device"):
    """Microseconds by class, of what is not zero, and the whole split."""
    built, context = prepare(timeline(tmp_path, *events), Scope(window))
    (one,) = split(built, context)
    return {name: ns / 1000 for name, ns in one.by_class.items() if ns}, one


def framed(*events):
    """The events between a first and a last kernel, 10 us each, at the ends of a window of 100 us."""
    return (kernel(0, 10, id=0, name="first"), *events)


def test_host_then_launch_then_queue(tmp_path):
    found, one = idle(*framed(op(5, 70), launch(40, 55, id=1), kernel(60, 100, id=1)), tmp_path=tmp_path)
    assert found == {"host": 30, "launch": 15, "queue": 5}
    assert one.by_name == {"aten::mm": 30_000}


def test_host_work_is_named_by_the_deepest_call(tmp_path):
    events = framed(
        python(0, 90, "outer"), op(12, 30, "aten::linear"), op(15, 25, "aten::addmm"),
        call(18, 20, 9, "cudaEventQuery"), launch(40, 41, id=1), kernel(41, 100, id=1),
    )  # fmt: skip
    _, one = idle(*events, tmp_path=tmp_path)
    assert one.by_name == {"outer": 12_000, "aten::linear": 8_000, "aten::addmm": 8_000, "cudaEventQuery": 2_000}


def test_only_the_launching_thread_counts(tmp_path):
    events = framed(op(5, 70, "other thread", tid=5), launch(40, 41, id=1), kernel(41, 100, id=1))
    _, one = idle(*events, tmp_path=tmp_path)
    assert one.by_name == {"": 30_000}


def test_time_inside_a_blocking_call_is_sync(tmp_path):
    events = framed(sync(2, 25), op(25, 60), launch(40, 41, id=1), kernel(41, 100, id=1))
    found, one = idle(*events, tmp_path=tmp_path)
    assert found == {"sync": 15, "host": 15, "launch": 1}
    assert one.after_sync_ns == 31_000


def test_a_thread_that_blocks_after_its_launch_does_no_harm(tmp_path):
    events = framed(launch(2, 4, id=1), sync(5, 99), kernel(30, 100, id=1))
    found, one = idle(*events, tmp_path=tmp_path)
    assert found == {"queue": 20}
    assert one.after_sync_ns == 0


def test_waiting_for_a_busy_device_is_no_loss(tmp_path):
    events = (launch(0, 4, id=1), kernel(5, 105, id=1), sync(6, 104))
    found, one = idle(*events, tmp_path=tmp_path)
    assert (found, one.after_sync_ns) == ({}, 0)
    assert diagnose(timeline(tmp_path, *events)).findings == ()


@pytest.mark.parametrize(
    ("name", "end", "blocks"),
    [
        ("cudaMemcpyAsync", 25, True),
        ("cudaMemcpyAsync", 14, False),
        ("cudaMemcpy", 14, True),
        ("hipMemcpyWithStream", 14, True),
    ],
)
def test_copies_that_return_when_the_copy_is_done_block(tmp_path, name, end, blocks):
    events = (
        kernel(0, 10), call(8, end, 5, name), copy(10, 20, id=5, name="Memcpy DtoH (Device -> Pageable)"),
        launch(40, 41, id=1), kernel(41, 100, id=1),
    )  # fmt: skip
    found, _ = idle(*events, tmp_path=tmp_path)
    assert found.get("sync", 0) == (max(end - 20, 0) if blocks else 0)
    assert sum(found.values()) == 21


def test_no_launch_is_unknown(tmp_path):
    assert idle(*framed(kernel(60, 100, id=1)), tmp_path=tmp_path)[0] == {"unknown": 50}
    assert idle(*framed(launch(40, 41, id=2), kernel(60, 100, id=0)), tmp_path=tmp_path)[0] == {"unknown": 50}


def test_after_a_graph_launch_is_graph(tmp_path):
    events = framed(call(12, 20, 1, "cudaGraphLaunch"), kernel(60, 80, id=1), kernel(85, 100, id=1))
    found, one = idle(*events, tmp_path=tmp_path)
    assert found == {"host": 2, "launch": 8, "graph": 45}
    assert one.graph_holes == (1, 40_000, 40_000)


def test_a_launch_long_ago_is_queue_for_all_of_the_gap(tmp_path):
    assert idle(*framed(launch(-50, -45, id=1), kernel(60, 100, id=1)), tmp_path=tmp_path)[0] == {"queue": 50}


def test_a_launch_that_seems_to_begin_after_its_work_is_host(tmp_path):
    assert idle(*framed(launch(61, 65, id=1), kernel(60, 100, id=1)), tmp_path=tmp_path)[0] == {"host": 50}


def test_work_is_given_to_the_first_known_launch_of_several_that_start_together(tmp_path):
    events = framed(launch(40, 41, id=1), kernel(60, 90, id=77, stream=8), kernel(60, 100, id=1))
    assert idle(*events, tmp_path=tmp_path)[0] == {"host": 30, "launch": 1, "queue": 19}


def test_correlation_ids_that_repeat_across_processes_are_not_guessed(tmp_path):
    events = framed(launch(40, 41, id=1), launch(20, 21, id=1, pid=1, tid=1), kernel(60, 100, id=1))
    assert idle(*events, tmp_path=tmp_path)[0] == {"unknown": 50}


def test_correlation_ids_that_repeat_within_a_process_take_the_latest_before(tmp_path):
    events = framed(launch(20, 21, id=1), launch(40, 41, id=1), launch(70, 71, id=1), kernel(60, 100, id=1))
    assert idle(*events, tmp_path=tmp_path)[0] == {"host": 30, "launch": 1, "queue": 19}


def test_time_after_the_last_event_of_a_step_window_is_the_steps_own(tmp_path):
    events = (step(0, 100), launch(1, 2, id=1), kernel(5, 40, id=1), sync(30, 45), op(45, 90, "sampling"))
    found, one = idle(*events, recording(-5, 200), tmp_path=tmp_path, window="steps")
    assert found == {"host": 56, "launch": 1, "queue": 3, "sync": 5}
    assert one.by_name["sampling"] == 45_000
    assert idle(*events, tmp_path=tmp_path, window="steps")[0]["unknown"] == 60, "not recorded, not blamed"
    later = (launch(60, 70, id=2), kernel(300, 310, id=2))
    found, _ = idle(*events, *later, tmp_path=tmp_path, window="steps")
    assert found == {"host": 16, "launch": 11, "queue": 33, "sync": 5}


def test_a_step_window_without_marks_says_what_it_is(tmp_path):
    found = diagnose(timeline(tmp_path, *healthy()), window="steps")
    assert found.window.kind == "device"
    assert "no step marks on 1 device" in found.window.note


def test_a_device_that_is_mostly_idle_is_not_healthy(tmp_path):
    graph = [call(0, 10, 1, "cudaGraphLaunch"), *(kernel(20 + 10 * n, 23 + 10 * n, id=1) for n in range(1000))]
    sets = [
        e
        for n in range(200)
        for e in (call(50 * n, 50 * n + 49, n + 1, "cudaMemsetAsync"), memset(50 * n + 49, 50 * n + 50, id=n + 1))
    ]
    for events in (graph, sets):
        found = diagnose(timeline(tmp_path, *events))
        assert not found.healthy
        assert found.findings[0].severity == "critical"
    assert not diagnose(timeline(tmp_path, kernel(10, 10, id=1))).healthy


span = st.tuples(st.integers(0, 200), st.integers(0, 60))


@given(
    st.lists(
        st.tuples(span, span, st.booleans(), st.sampled_from(["cudaLaunchKernel", "cudaGraphLaunch"])),
        min_size=1,
        max_size=8,
    ),
    st.lists(span, max_size=4),
    st.lists(span, max_size=4),
    st.sampled_from(["device", "steps"]),
)  # fmt: skip
def test_idle_classes_sum_to_the_idle_time(tmp_path_factory, works, blocks, ops, window):
    events = [annotation(20, 180, "ProfilerStep#3"), recording(-10, 400)]
    for id, ((call_at, cost), (at, length), known, name) in enumerate(works, 1):
        events.append(kernel(at, at + length, id=id))
        if known:
            events.append(call(call_at, call_at + cost, id, name))
    events += [sync(at, at + length) for at, length in blocks]
    events += [op(at, at + length) for at, length in ops]
    built, context = prepare(timeline(tmp_path_factory.mktemp("idle"), *events), Scope(window))
    (one,) = split(built, context)
    busy = context.spans(built, one.window).total_ns
    assert sum(one.by_class.values()) == one.window.length_ns - busy
    assert all(one.by_class[name] >= 0 for name in IDLE_CLASSES)
    assert sum(one.host_ns.values()) == one.by_class["host"]
    assert sum(one.by_name.values()) == one.by_class["host"]
    assert sum(one.outside_ns.values()) == one.window.judged_outside.total_ns


def causes(*events, tmp_path, **options):
    return {f.cause: f for f in diagnose(timeline(tmp_path, *events), **options).findings}


def loop(steps=40, host=80.0, name="aten::mm", length=10.0):
    """A launch every ``host`` us for a kernel of ``length`` us."""
    for number in range(steps):
        start = number * host
        yield op(start, start + host - 6, name)
        yield launch(start + host - 6, start + host - 2, id=number + 1)
        yield kernel(start + host, start + host + length, id=number + 1)


def test_host_bound(tmp_path):
    found = causes(*loop(), tmp_path=tmp_path)
    assert next(iter(found)) == "host-bound"
    assert found["host-bound"].severity == "critical"
    assert found["host-bound"].lost_fraction == pytest.approx(39 * 64 / (39 * 80 + 10), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "data-loading"),
        ("torch/utils/data/dataloader.py(701): __next__", "data-loading"),
        ("torch/_dynamo/convert_frame.py(1): _compile", "warm-up"), ("cuModuleLoadData", "warm-up"),
        ("cudaMalloc", "allocator-churn"), ("hipFree", "allocator-churn"), ("aten::mm", "host-bound"),
    ],
)  # fmt: skip
def test_host_work_of_a_known_kind_has_a_cause_of_its_own(tmp_path, name, cause):
    found = causes(*loop(name=name), tmp_path=tmp_path)
    assert next(iter(found)) == cause
    assert found.keys() & {"data-loading", "warm-up", "allocator-churn", "host-bound"} == {cause}


def test_time_inside_a_graph_capture_is_warm_up(tmp_path):
    events = [item for item in loop() if item["name"] != "aten::mm"]
    events += [call(1, 2, 901, "cudaStreamBeginCapture"), call(3190, 3191, 902, "cudaStreamEndCapture")]
    assert next(iter(causes(*events, tmp_path=tmp_path))) == "warm-up"


def test_small_kernels_and_launch_bound(tmp_path):
    def launches(cost, length):
        for number in range(50):
            at = number * (cost + 2)
            yield launch(at, at + cost, id=number + 1)
            yield kernel(at + cost, at + cost + length, id=number + 1)

    assert next(iter(causes(*launches(10, 3), tmp_path=tmp_path))) == "small-kernels"
    assert next(iter(causes(*launches(18, 19), tmp_path=tmp_path))) == "launch-bound"


def test_one_slow_launch_call_is_warm_up_not_launch_bound(tmp_path):
    events = [*loop(20, host=12, length=9), launch(300, 90_300, id=99), kernel(90_301, 90_320, id=99)]
    found = causes(*events, tmp_path=tmp_path)
    assert next(iter(found)) == "warm-up"
    assert "launch-bound" not in found


def test_one_gap_after_a_plain_launch_is_untraced_work(tmp_path):
    events = [*loop(20, host=12, length=11), launch(300, 304, id=99), kernel(900, 920, id=99, name="late")]
    found = causes(*events, tmp_path=tmp_path)
    gap = found["untraced-work"]
    evidence = {item.what: item.value for item in gap.evidence}
    assert evidence["the work after it"] == "late"
    assert evidence["length of the gap"] == pytest.approx(649e-6)
    assert evidence["busy"] > 0.9
    assert diagnose(timeline(tmp_path, *events)).table("large_gaps").rows[0][5] == "queue"


def test_pauses_between_queued_kernels_are_what_launching_costs(tmp_path):
    events = [
        item for n in range(40) for item in (launch(n, n + 0.5, id=n + 1), kernel(100 + 20 * n, 110 + 20 * n, id=n + 1))
    ]
    found = causes(*events, tmp_path=tmp_path)
    assert list(found) == ["launch-bound"]
    assert found["launch-bound"].lost_fraction == pytest.approx(390 / 790)


def test_idle_without_a_known_launch_is_not_healthy(tmp_path):
    found = diagnose(timeline(tmp_path, *(kernel(100 * n, 100 * n + 10) for n in range(30))))
    assert found.findings == ()
    assert not found.healthy
    assert found.bound_by.resource == "unknown"


def test_time_blocked_outside_the_window_is_priced(tmp_path):
    events = (step(0, 1000), launch(10, 14, id=1), kernel(20, 300, id=1), sync(310, 900), recording(-5, 1100))
    assert causes(*events, tmp_path=tmp_path)["sync-stall"].lost_s == pytest.approx(590e-6)


def test_a_queue_wait_in_a_long_host_gap_is_not_lost(tmp_path):
    events = framed(op(10, 60), launch(60, 61, id=1), kernel(90, 100, id=1))
    found = causes(*events, tmp_path=tmp_path)
    assert found["dependency-wait"].lost_s == pytest.approx(29e-6)


def test_waits_after_many_launches_are_dependencies(tmp_path):
    events = []
    for number in range(30):
        at = number * 100
        events += [launch(at, at + 4, id=number + 1), kernel(at + 60, at + 100, id=number + 1)]
    assert next(iter(causes(*events, tmp_path=tmp_path))) == "dependency-wait"


def test_holes_after_graph_launches_are_untraced_and_doubted(tmp_path):
    events = []
    for number in range(30):
        at = number * 100
        events += [call(at, at + 4, number + 1, "cudaGraphLaunch"), kernel(at + 70, at + 99, id=number + 1)]
    found = causes(*events, tmp_path=tmp_path)
    assert list(found) == ["untraced-work", "launch-bound", "trace-integrity"]


def test_host_time_of_a_step_outside_the_window_is_judged_when_it_was_recorded(tmp_path):
    busy = [launch(600, 604, id=1), kernel(605, 1000, id=1)]
    work = [op(0, 590, "decode_video"), step(0, 1000)]
    found = causes(*busy, *work, recording(-10, 1100), tmp_path=tmp_path)
    assert list(found) == ["host-bound"]
    assert found["host-bound"].lost_s == pytest.approx(605e-6)
    assert found["host-bound"].lost_fraction == pytest.approx(0.605)
    assert "decode_video" in {item.what for item in found["host-bound"].evidence}
    unrecorded = diagnose(timeline(tmp_path, *busy, *work))
    assert unrecorded.findings == ()
    assert (unrecorded.window.outside_s, unrecorded.window.judged_outside_s) == (pytest.approx(605e-6), 0)


def test_recorded_python_calls_are_said_where_the_host_is_blamed(tmp_path):
    calls = [python(number * 2, number * 2 + 1) for number in range(1500)]
    found = causes(*loop(), *calls, tmp_path=tmp_path)
    assert found["host-bound"].confidence == "medium"
    assert "Python calls" in found["trace-integrity"].title
    assert causes(*healthy(), *calls, tmp_path=tmp_path) == {}


@pytest.mark.parametrize("steps", [1, 30])
def test_a_healthy_device_has_no_finding(tmp_path, steps):
    found = diagnose(timeline(tmp_path, *healthy(steps)))
    assert found.findings == ()
    assert found.healthy


def test_the_fix_speaks_of_the_server_that_made_the_trace(tmp_path):
    mark = annotation(0, 3200, "execute_context_0(0)_generation_8(8)")
    assert "vLLM" in causes(*loop(), mark, tmp_path=tmp_path)["host-bound"].fix[0].text
    mark = annotation(0, 3200, "step[DECODE bs=8]")
    assert "SGLang" in causes(*loop(), mark, tmp_path=tmp_path)["host-bound"].fix[0].text
    graphs = [item | {"name": "cudaGraphLaunch"} if item["name"] == "cudaLaunchKernel" else item for item in loop()]
    assert "already" in causes(*graphs, tmp_path=tmp_path)["host-bound"].fix[0].text


def test_graph_id_0_is_no_graph(tmp_path):
    events = [
        item | {"args": item["args"] | {"graph id": 0, "graph node id": 0}} if "args" in item else item
        for item in loop()
    ]
    assert causes(*events, tmp_path=tmp_path) == causes(*loop(), tmp_path=tmp_path)


def test_slow_launches_that_are_usual_for_their_name_load_no_code(tmp_path):
    events = []
    for n in range(8):
        at = n * 2000
        events += [call(at, at + 700, 100 + n, "cudaGraphLaunch"), kernel(at + 700, at + 1400, id=100 + n)]
        events += [
            item for k in range(5) for item in (launch(at + 1400 + 20 * k, at + 1405 + 20 * k, id=1000 + 10 * n + k),)
        ]
        events += [kernel(at + 1410 + 20 * k, at + 1420 + 20 * k, id=1000 + 10 * n + k) for k in range(5)]
    assert "warm-up" not in causes(*events, tmp_path=tmp_path)


def test_the_launch_of_a_graph_is_shared_by_its_kernels(tmp_path):
    events = []
    for n in range(10):
        at = n * 300
        events += [call(at, at + 50, n + 1, "cudaGraphLaunch")]
        events += [kernel(at + 50 + 4 * k, at + 54 + 4 * k, id=n + 1) for k in range(50)]
    found = causes(*events, tmp_path=tmp_path)
    assert "small-kernels" not in found
    assert "already" in found["launch-bound"].fix[0].text


def test_an_asynchronous_copy_of_pinned_memory_and_a_set_do_not_block(tmp_path):
    for work, name in ((copy(5, 8, id=5), "cudaMemcpyAsync"), (memset(5, 8, id=5), "cudaMemsetAsync")):
        events = (kernel(0, 4), call(1, 25, 5, name), work, launch(40, 41, id=1), kernel(41, 100, id=1))
        assert "sync" not in idle(*events, tmp_path=tmp_path)[0]


def test_a_second_device_that_is_hardly_used_blames_nobody(tmp_path):
    events = [
        *healthy(),
        step(0, 30_200),
        recording(-5, 30_300),
        launch(90, 95, id=99),
        kernel(100, 110, id=99, device=1),
    ]
    assert causes(*events, tmp_path=tmp_path) == {}


def test_losses_are_those_of_the_worst_device(tmp_path):
    other = []
    for event in loop(20):
        if "args" in event:
            event["args"]["correlation"] += 500
        if event["cat"] == "kernel":
            event |= {"pid": 1, "args": event["args"] | {"device": 1}}
        other.append(event)
    found = causes(*healthy(10), *other, tmp_path=tmp_path)["host-bound"]
    assert found.where == {"rank": 0, "device": 1}
    assert found.lost_fraction > 0.7


def test_the_end_of_a_capture_that_began_before_costs_no_other(tmp_path):
    events = [item for item in loop() if item["name"] != "aten::mm"]
    events += [call(0, 1, 900, "cudaStreamEndCapture"), call(1, 2, 901, "cudaStreamBeginCapture")]
    events += [call(3190, 3191, 902, "cudaStreamEndCapture")]
    assert next(iter(causes(*events, tmp_path=tmp_path))) == "warm-up"


def test_time_with_no_runnable_request_is_starved():
    steps = {
        "start_ns": [20, 60],
        "end_ns": [50, 80],
        "running": [0, 3],
        "waiting": [0, 0],
        "rank": [0, 0],
        "process": [1, 1],
        "thread": [1, 1],
    }
    device = {
        "start_ns": [0, 90],
        "end_ns": [10, 100],
        "device": [0, 0],
        "rank": [0, 0],
        "kind": ["kernel"] * 2,
        "name": ["k"] * 2,
    }
    found = diagnose(Timeline.build(Source("test"), {"device": device, "steps": steps}))
    assert found.metric("idle.starved_fraction").value == 0.3
    assert found.metric("idle.unknown_fraction").value == 0.5
    assert found.findings[0].cause == "starved"


def test_unknown_is_not_zero(tmp_path):
    found = diagnose(timeline(tmp_path, *healthy()))
    assert found.metric("idle.starved_fraction").reason.startswith("missing")
    assert found.metric("window.outside_s").reason == "missing: no step marks"
