"""Several files: ranks, halves of one rank, directories."""

import json

import pytest
from builders import annotation, kernel, launch, op, sync, trace, write
from hypothesis import given
from hypothesis import strategies as st

from diagtool import diagnose, read
from diagtool.errors import UnreadableInput, UnsupportedFormat

EVENTS = [
    op(0, 30),
    launch(5, 9, id=1),
    kernel(12, 20, id=1),
    sync(21, 28, id=2),
    launch(40, 44, id=3),
    kernel(47, 60, id=3),
]


def saved(tmp_path, name, *events, **header):
    return write(tmp_path / name, trace(*events, **header))


def results(timeline, **options):
    return diagnose(timeline, **options).results


def test_stated_ranks_are_labels(tmp_path):
    found = read(*(saved(tmp_path, f"{rank}.json", *EVENTS, rank=rank) for rank in (5, 2)))
    assert sorted(set(found.device["rank"])) == [2, 5]
    assert {device.rank for device in found.devices} == {2, 5}
    busy = diagnose(found).metrics("device.busy_fraction")
    assert [metric.labels for metric in busy] == [{"device": "0", "rank": "2"}, {"device": "0", "rank": "5"}]


def test_unstated_ranks_are_numbered(tmp_path):
    found = read(saved(tmp_path, "a.json", *EVENTS), saved(tmp_path, "b.json", *EVENTS[:-1]))
    assert sorted(set(found.device["rank"])) == [0, 1]
    assert found.source.lost == ()


def test_a_rank_stated_twice_gets_a_label_of_its_own(tmp_path):
    found = read(saved(tmp_path, "a.json", *EVENTS, rank=0), saved(tmp_path, "b.json", *EVENTS[:-1], rank=0))
    assert sorted(set(found.device["rank"])) == [0, 1]
    assert found.source.notes == ("b.json states rank 0 as another does: labelled 1",)


def test_one_trace_given_twice_is_said(tmp_path):
    one, other = (saved(tmp_path, name, *EVENTS) for name in ("a.json", "a.json.gz"))
    assert read(one, other).source.notes == ("a.json and a.json.gz look like one trace given twice",)
    again = read(one, tmp_path / "." / "a.json")
    assert again.source.notes == ("1 path given twice, read once",)
    assert set(again.device["rank"]) == {0}


def test_launches_are_matched_within_their_rank(tmp_path):
    late = [dict(event, ts=event["ts"] + 1000) for event in EVENTS]
    found = diagnose(read(saved(tmp_path, "a.json", *EVENTS, rank=0), saved(tmp_path, "b.json", *late, rank=1)))
    alone = diagnose(read(saved(tmp_path, "c.json", *EVENTS, rank=0)))
    for metric in alone.results[1].metrics:
        for rank in ("0", "1"):
            assert found.metric(metric.name, rank=rank).value == pytest.approx(metric.value)


stamps = st.integers(0, 400)


@st.composite
def traces(draw):
    """Host calls and device work with launches that match, some missing, in any order."""
    events = []
    for number in range(draw(st.integers(1, 8))):
        start = draw(stamps)
        id = number + 1
        if draw(st.booleans()):
            events.append(launch(start, start + draw(st.integers(0, 20)), id=id))
        began = draw(stamps)
        events.append(kernel(began, began + draw(st.integers(0, 60)), id=id, stream=draw(st.integers(7, 8))))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(stamps)
        events.append(draw(st.sampled_from([op, sync]))(start, start + draw(st.integers(0, 80))))
    if draw(st.booleans()):
        events.append(annotation(0, 500, draw(st.sampled_from(["ProfilerStep#1", "step[DECODE bs=8]"]))))
    return events


@given(traces(), st.integers(0, 2_000_000_000_000_000), st.sampled_from(["device", "steps"]))
def test_shifting_all_stamps_changes_nothing(tmp_path_factory, events, shift, window):
    folder = tmp_path_factory.mktemp("shift")
    moved = [event | {"ts": event["ts"] + shift} for event in events]
    here = results(read(saved(folder, "a.json", *events)), window=window)
    there = results(read(saved(folder, "b.json", *moved)), window=window)
    assert here == there


@given(traces(), st.sampled_from(["device", "steps"]))
def test_host_and_device_in_two_files_are_one_rank(tmp_path_factory, events, window):
    folder = tmp_path_factory.mktemp("halves")
    host = [event for event in events if event["cat"] != "kernel"]
    device = [event for event in events if event["cat"] == "kernel"]
    if not host:
        return
    whole = results(read(saved(folder, "whole.json", *events)), window=window)
    halves = read(saved(folder, "host.json", *host), saved(folder, "device.json", *device))
    assert set(halves.device["rank"]) == {0}
    assert results(halves, window=window) == whole


def test_directory_of_ranks(tmp_path):
    for rank in range(3):
        saved(tmp_path, f"rank{rank}.json.gz", *EVENTS, rank=rank)
    (tmp_path / "notes.txt").write_text("not a trace")
    (tmp_path / "details.json").write_text(json.dumps([{"batch": 32}]))
    found = read(tmp_path)
    assert sorted(set(found.device["rank"])) == [0, 1, 2]
    assert found.source.notes == ("2 files passed over, no trace: details.json and notes.txt",)


def test_broken_files_and_ranks_without_device_work_are_said(tmp_path):
    saved(tmp_path, "rank0.json", *EVENTS, rank=0)
    saved(tmp_path, "rank1.json", op(0, 5), launch(5, 6, id=1), rank=1)
    (tmp_path / "rank2.json").touch()
    found = read(tmp_path)
    assert found.source.notes == ("rank 1: no device events",)
    (loss,) = found.source.lost
    assert (loss.what, loss.unit) == ("file that could not be read", "file")
    assert loss.detail.startswith("rank2.json: ")


def test_directory_with_none_says_so(tmp_path):
    with pytest.raises(UnsupportedFormat, match="0 files"):
        read(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(UnsupportedFormat, match=r"a\.txt: not a PyTorch profiler trace"):
        read(tmp_path)


def test_nothing_given():
    with pytest.raises(UnreadableInput, match="nothing to read"):
        read()
