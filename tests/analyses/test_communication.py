"""Collectives: what is exposed, what hides, who waits for whom."""

import pytest
from builders import kernel, timeline, trace, write

from diagtool import diagnose, read

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
ALL_GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def collective(start, end, name=ALL_REDUCE, stream=20, **args):
    return kernel(start, end, name=name, stream=stream, **args)


def of_ranks(folder, *ranks):
    """One diagnosis of several ranks, each a list of events."""
    for number, events in enumerate(ranks):
        write(folder / f"rank{number}.json", trace(*events, rank=number))
    return diagnose(read(folder))


def finding(found, cause):
    return next((one for one in found.findings if one.cause == cause), None)


def evidence(one):
    return {item.what: item.value for item in one.evidence}


def test_exposed_and_hidden_parts(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(0, 40), collective(30, 60), kernel(60, 100)))
    assert found.metric("communication.exposed_fraction").value == 0.2
    assert found.metric("communication.exposed_fraction").value == found.metric("time.communication_fraction").value
    assert found.metric("communication.overlap_fraction").value == pytest.approx(10 / 30)
    assert found.metric("communication.kernel_time_fraction").value == pytest.approx(30 / 110)
    assert found.metric("communication.waiting_fraction").reason.startswith("missing: one rank alone")
    one = finding(found, "exposed-communication")
    assert one.lost_s == pytest.approx(20e-6)
    assert "second stream" in one.fix[0].text
    assert "all ranks" in one.fix[1].text


def test_collectives_on_the_stream_of_the_kernels_are_said_to_be(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(0, 40), collective(40, 60, stream=7), kernel(60, 100)))
    one = finding(found, "exposed-communication")
    assert evidence(one)["on a stream that compute uses"] == 1
    assert "on a stream of their own" in one.fix[0].text


def test_no_collective_is_not_zero_overlap(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(0, 10)))
    assert found.metric("communication.overlap_fraction").reason == "not-applicable: no collective ran"
    assert found.table("collectives") is None


def test_message_sizes_give_a_rate(tmp_path):
    stated = {"Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 800, "dtype": "BFloat16"}
    found = diagnose(timeline(tmp_path, collective(0, 10, "ncclDevKernel_Generic(x)", **stated)))
    (row,) = found.table("collectives").rows
    assert row[:3] == ("NCCL", "all-gather", 1)
    assert row[5:] == (1600, pytest.approx(1600 / 10e-6))


def test_a_message_of_unknown_type_has_no_size(tmp_path):
    stated = {"Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 100, "dtype": "Float7"}
    (row,) = diagnose(timeline(tmp_path, collective(0, 10, **stated))).table("collectives").rows
    assert row[5:] == (None, None)


def test_the_late_rank_is_named_and_the_waiting_ones_are_not_blamed(tmp_path):
    early = [kernel(0, 10), collective(10, 100), kernel(100, 110)]
    late = [kernel(0, 90), collective(90, 100), kernel(100, 110)]
    found = of_ranks(tmp_path, early, late)
    one = finding(found, "straggler")
    assert one.where == {"rank": 1, "device": 0}
    assert (one.lost_s, one.lost_fraction) == (pytest.approx(80e-6), pytest.approx(80 / 110))
    assert evidence(one)["waiting for the last rank"] == 0.8
    assert evidence(one)["collectives at which rank 1 is last"] == 1
    assert "mostly for rank 1" in one.title
    assert "--rank 1" in one.fix[0].command
    exposed = finding(found, "exposed-communication")
    assert exposed.lost_s == pytest.approx(10e-6), "the transfer, without the wait"
    assert found.metric("communication.waiting_fraction", rank="0").value == pytest.approx(80 / 90)
    assert found.metric("communication.waiting_fraction", rank="1").value == 0


def test_waiting_needs_no_common_clock(tmp_path):
    shifted = [kernel(5_000_000, 5_000_090), collective(5_000_090, 5_000_100)]
    found = of_ranks(tmp_path, [kernel(0, 10), collective(10, 100)], shifted)
    assert evidence(finding(found, "straggler"))["waited for rank 1"] == pytest.approx(80e-6)


def test_waiting_hidden_behind_compute_costs_nothing(tmp_path):
    early = [kernel(0, 100), collective(10, 100)]
    assert finding(of_ranks(tmp_path, early, [kernel(0, 100), collective(90, 100)]), "straggler") is None


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ([collective(0, 10), collective(20, 30)], "between 1 and 2 collectives"),
        ([collective(0, 10, ALL_GATHER)], "different operations"),
        (
            [collective(0, 10, **{"Collective name": "allreduce", "In msg nelems": 7, "dtype": "Float"})],
            "different sizes",
        ),
    ],
)
def test_ranks_that_disagree_are_not_matched(tmp_path, other, reason):
    found = of_ranks(tmp_path, [collective(0, 90)], other)
    assert finding(found, "straggler") is None
    assert reason in found.metric("communication.waiting_fraction", rank="0").reason


def test_groups_are_matched_each_by_itself(tmp_path):
    def pair(group, start, end):
        return collective(start, end, **{"Process Group Name": group, "Collective name": "allreduce"})

    found = of_ranks(
        tmp_path, [pair("tp", 0, 10), pair("dp", 20, 60)], [pair("tp", 0, 10), pair("dp", 50, 60), pair("pp", 70, 71)]
    )
    assert evidence(finding(found, "straggler"))["waited for rank 1"] == pytest.approx(30e-6)


def test_ranks_that_take_turns_have_no_one_to_blame_for_most(tmp_path):
    """Each of four ranks is late as often as the others."""

    def rank(number):
        for at in range(8):
            begin = at * 1000
            arrives = begin + (400 if at % 4 == number else 100)
            yield kernel(begin, arrives)
            yield collective(arrives, begin + 450)

    one = finding(of_ranks(tmp_path, *(list(rank(number)) for number in range(4))), "straggler")
    assert "in turn" in one.title
    assert one.confidence == "medium"
    values = evidence(one)
    (share,) = (value for what, value in values.items() if what.startswith("waiting for rank"))
    assert share == 0.25
    assert one.lost_s == pytest.approx(2 * 300e-6), "what one other rank waits for this one"


def test_the_loss_is_that_of_a_rank_that_waits_for_the_late_one(tmp_path):
    """Rank 0 is late twice, rank 1 once and longest: rank 0 loses by rank 1, rank 1 by rank 0."""
    first = [kernel(0, 60), collective(60, 70), kernel(70, 130), collective(130, 140), collective(140, 240)]
    second = [collective(0, 70), collective(70, 140), kernel(140, 230), collective(230, 240)]
    one = finding(of_ranks(tmp_path, first, second), "straggler")
    assert one.where == {"rank": 0, "device": 0}
    assert one.lost_s == pytest.approx(120e-6)
    assert evidence(one)["waits longest for it"] == "rank 1"


def test_the_devices_of_one_rank_are_told_apart(tmp_path):
    events = [
        kernel(0, 10), collective(10, 100), kernel(0, 90, device=1, stream=9), collective(90, 100, device=1, stream=21),
    ]  # fmt: skip
    found = diagnose(timeline(tmp_path, *events))
    one = finding(found, "straggler")
    assert one.where == {"rank": 0, "device": 1}
    assert "rank 0, device 1" in one.title


def test_what_passes_from_one_to_the_next_is_hardly_a_straggler(tmp_path):
    """Two stages of a pipeline: the second always waits for the first."""
    send = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
    found = of_ranks(tmp_path, [kernel(0, 90), collective(90, 95, send)], [collective(0, 95, send), kernel(95, 180)])
    assert finding(found, "straggler").confidence == "low"
