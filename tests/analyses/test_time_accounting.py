"""Every nanosecond of a window belongs to one class."""

import numpy as np
import pytest
from builders import copy, kernel, memset, recording, step, timeline
from hypothesis import given
from hypothesis import strategies as st

from diagtool import diagnose
from diagtool.analyses.time_accounting import account
from diagtool.context import prepare

D2D = "Memcpy DtoD (Device -> Device)"
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


def shares(diagnosis):
    table = diagnosis.table("accounting")
    return {row[2]: row[3] * 1e6 for row in table.rows}


def test_priority_compute_communication_copy_idle(tmp_path):
    found = diagnose(
        timeline(
            tmp_path,
            kernel(0, 10), kernel(5, 20, name=NCCL, stream=8), copy(15, 30, stream=9), copy(25, 40, name=D2D, stream=9),
            memset(38, 50, stream=9), kernel(90, 100),
        )
    )  # fmt: skip
    assert shares(found) == pytest.approx(
        {"compute": 20, "communication": 10, "copy h2d": 10, "copy d2d": 10, "copy set": 10, "idle": 40}
    )
    assert found.metric("device.busy_fraction").value == 0.6
    assert found.metric("kernel.idle_fraction").value == 0.7


@pytest.mark.parametrize(
    "name",
    [
        "ncclDevKernel_AllReduce", "ncclKernel_SendRecv_RING_SIMPLE", "multimem_all_reduce_kernel", "rccl_x",
        "void vllm::cross_device_reduce_2stage<__half, 8>", "two_shot_all_reduce_kernel", "oneShotAllReduceKernel",
        "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel", "nvshmemi_reduce",
        "deep_ep::internode::dispatch", "quickreduce::allreduce_prototype_twoshot", "symm_mem_copy",
    ],
)  # fmt: skip
def test_collectives_by_any_name(tmp_path, name):
    assert shares(diagnose(timeline(tmp_path, kernel(0, 10, name=name))))["communication"] == pytest.approx(10)


@pytest.mark.parametrize(
    "name", ["void at::native::reduce_kernel<512, 1>", "hipblaslt_gemm", "gather_kernel", "splitKreduce"]
)
def test_what_is_no_collective(tmp_path, name):
    assert shares(diagnose(timeline(tmp_path, kernel(0, 10, name=name))))["compute"] == pytest.approx(10)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Memcpy HtoD (Pinned -> Device)", "h2d"), ("Memcpy DtoH (Device -> Pageable)", "d2h"), (D2D, "d2d"),
        ("Memcpy PtoP (Device -> Device)", "peer"), ("CopyHostToDevice", "h2d"), ("Memcpy ?", "other"),
    ],
)  # fmt: skip
def test_kinds_of_copies(tmp_path, name, kind):
    assert f"copy {kind}" in shares(diagnose(timeline(tmp_path, copy(0, 10, name=name))))


work = st.tuples(st.integers(0, 90), st.integers(0, 30), st.sampled_from(["kernel", "nccl", "h2d", "d2d", "set"]))


@given(st.lists(work, min_size=1, max_size=15))
def test_sums_are_exact_and_equal_a_bitmap(tmp_path_factory, items):
    make = {
        "kernel": lambda a, b: kernel(a, b), "nccl": lambda a, b: kernel(a, b, name=NCCL),
        "h2d": lambda a, b: copy(a, b), "d2d": lambda a, b: copy(a, b, name=D2D), "set": lambda a, b: memset(a, b),
    }  # fmt: skip
    events = [make[kind](start, start + length) for start, length, kind in items]
    built, context = prepare(timeline(tmp_path_factory.mktemp("account"), *events))
    (window,) = context.windows
    found = account(built, context, window)
    first = min(start for start, _, _ in items)
    last = max(start + length for start, length, _ in items)
    owner = np.full(last - first, "idle", object)
    for kind in ("set", "d2d", "h2d", "nccl", "kernel"):
        for start, length, its in items:
            if its == kind:
                owner[start - first : start + length - first] = kind
    counted = {kind: int((owner == kind).sum()) * 1000 for kind in ("kernel", "nccl", "h2d", "d2d", "set", "idle")}
    assert found.compute_ns == counted["kernel"]
    assert found.communication_ns == counted["nccl"]
    assert [found.copies[kind] for kind in ("h2d", "d2d", "set")] == [counted[kind] for kind in ("h2d", "d2d", "set")]
    assert found.idle_ns == counted["idle"]
    assert found.compute_ns + found.communication_ns + found.copy_ns + found.idle_ns == window.length_ns


def test_exposed_communication_is_found_and_priced(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(0, 60), kernel(40, 100, name=NCCL, stream=8)))
    (finding,) = found.findings
    assert (finding.cause, finding.severity, finding.lost_s) == (
        "exposed-communication",
        "critical",
        pytest.approx(40e-6),
    )
    assert found.bound_by.resource == "unknown"
    assert found.bound_by.next.resource == "communication"


def test_exposed_copies_over_a_bus_but_never_on_the_device(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(0, 60), copy(60, 80), copy(80, 100, name=D2D)))
    (finding,) = found.findings
    assert (finding.cause, finding.lost_fraction) == ("exposed-copy", pytest.approx(0.2))


def test_window_of_steps(tmp_path):
    events = (step(0, 50), step(50, 100, 2), kernel(10, 90), kernel(120, 130), recording(-10, 200))
    device, steps = (diagnose(timeline(tmp_path, *events), window=kind) for kind in ("device", "steps"))
    assert (device.window.seconds, device.window.outside_s) == pytest.approx((120e-6, 10e-6))
    assert (steps.window.seconds, steps.window.outside_s) == pytest.approx((100e-6, 0))
    assert steps.metric("device.busy_fraction").value == 0.8


def test_a_single_instant_has_no_shares(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(5, 5)))
    metric = found.metric("device.busy_fraction")
    assert (metric.value, metric.reason) == (None, "undefined: the window has no length")
