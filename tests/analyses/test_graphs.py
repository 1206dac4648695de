"""GPU graphs: launches, kernels in each, gaps, and eager steps among graph steps."""

import pytest
from builders import annotation, call, kernel, launch, timeline

from diagtool import diagnose

GRAPH = "cudaGraphLaunch"


def mark(start, end, requests=8):
    return annotation(start, end, f"execute_context_0(0)_generation_{requests}({requests})")


def test_a_launch_owns_its_kernels(tmp_path):
    found = diagnose(
        timeline(tmp_path, call(0, 2, 1, GRAPH), call(3, 4, 2, GRAPH), launch(5, 6, id=3), call(7, 8, 4, GRAPH),
                 kernel(10, 20, id=1), kernel(22, 30, id=1), kernel(34, 40, id=2), kernel(40, 44, id=3))
    )  # fmt: skip
    assert found.metric("graph.launches").value == 3
    assert found.metric("graph.launches_unrecorded").value == 1
    assert found.metric("graph.kernels_per_launch_p50").value == 1.5
    assert found.metric("graph.kernel_time_fraction").value == pytest.approx(24 / 28)
    (row,) = found.table("graphs").rows
    assert row[2:6] == (2, 1, 1, 2)
    assert row[7:] == (pytest.approx(2e-6), pytest.approx(4e-6)), "idle inside the first, and before the second"


def test_no_graph_is_no_table(tmp_path):
    found = diagnose(timeline(tmp_path, launch(0, 1, id=1), kernel(2, 3, id=1)))
    assert found.table("graphs") is None
    assert found.metric("graph.kernel_time_fraction").value == 0
    assert found.metric("graph.kernels_per_launch_p50").value is None


def decode_steps(eager, requests=8):
    """Ten decode steps of 100 us, of which some launch their kernels one by one and take 300 us."""
    at = 0
    for id, number in enumerate(range(10), 1):
        length = 300 if number in eager else 100
        yield mark(at, at + length - 1, requests)
        name = "cudaLaunchKernel" if number in eager else GRAPH
        yield call(at + 1, at + 3, id, name)
        yield kernel(at + 5, at + length - 5, id=id)
        at += length


def fallback(found):
    return [one for one in found.findings if one.cause == "graph-fallback"]


def test_eager_steps_among_graph_steps(tmp_path):
    (one,) = fallback(diagnose(timeline(tmp_path, *decode_steps({3, 7}))))
    assert one.lost_s == pytest.approx(2 * 200e-6)
    values = {item.what: item.value for item in one.evidence}
    assert (values["decode steps without a graph"], values["decode steps with one"]) == (2, 8)
    assert "--max-cudagraph-capture-size" in one.fix[0].command


@pytest.mark.parametrize("eager", [set(), set(range(10))], ids=["all graphs", "all eager"])
def test_steps_that_are_all_alike_are_no_fallback(tmp_path, eager):
    assert fallback(diagnose(timeline(tmp_path, *decode_steps(eager)))) == []


def test_a_range_of_steps_counts_its_own_launches(tmp_path):
    from diagtool.scope import Scope

    events = list(decode_steps(set()))
    unrecorded = [call(number * 100 + 50, number * 100 + 52, 100 + number, GRAPH) for number in range(10)]
    found = diagnose(timeline(tmp_path, *events, *unrecorded), Scope(steps=(8, 10)))
    assert found.metric("graph.launches").value == 4
    assert found.metric("graph.launches_unrecorded").value == 2


def test_a_launch_without_kernels_counts_on_one_device(tmp_path):
    events = [call(0, 1, 1, GRAPH), call(1, 2, 2, GRAPH), kernel(5, 9, id=1), kernel(5, 9, device=1, stream=9)]
    found = diagnose(timeline(tmp_path, *events))
    assert [metric.value for metric in found.metrics("graph.launches_unrecorded")] == [1, 0]
    (doubt,) = [one for one in found.findings if one.cause == "trace-integrity"]
    assert "lack kernels" in doubt.title


def test_larger_batches_are_measured_by_the_largest_graph(tmp_path):
    events, at = [], 0
    for id, (requests, length, name) in enumerate(
        [(8, 100, GRAPH), (64, 200, GRAPH), (8, 110, "cudaLaunchKernel"), (64, 500, "cudaLaunchKernel")], 1
    ):
        events += [mark(at, at + length - 1, requests), call(at + 1, at + 3, id, name),
                   kernel(at + 5, at + length - 5, id=id)]  # fmt: skip
        at += length
    (one,) = fallback(diagnose(timeline(tmp_path, *events)))
    assert one.lost_s == pytest.approx(10e-6 + 300e-6)
