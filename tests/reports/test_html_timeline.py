"""The events in the page: exact to the nanosecond, small, and cut only with a word about it."""

import base64
import re

import numpy as np
from builders import copy, kernel, launch, op, sync, timeline
from hypothesis import given
from hypothesis import strategies as st
from reports.test_html import Page, text_of
from reports.test_terminal import CASES
from samples import GPU_SAMPLE

from diagtool import diagnose, read
from diagtool.diagnosis import Device, Source
from diagtool.reports import html_timeline
from diagtool.reports.html_timeline import pack, varints, zigzag
from diagtool.timeline import Timeline


def numbers(text, count):
    """LEB128 in base64, read byte by byte."""
    found, value, place = [], 0, 0
    for byte in base64.b64decode(text):
        value, place = value | (byte & 127) << place, place + 7
        if byte < 128:
            found.append(value)
            value, place = 0, 0
    assert (len(found), place) == (count, 0)
    return found


def unpacked(data):
    """(lane, start, end, name, kind, launch) of every event, times from the first; launch is a position or None."""
    launches = []
    events = []
    for lane in data["lanes"]:
        count, at = lane["count"], 0
        starts = [at := at + step for step in numbers(lane["starts"], count)]
        lengths, names = numbers(lane["lengths"], count), numbers(lane["names"], count)
        links = [None] * count
        if "launch" in lane:
            last = 0
            for i, link in enumerate(numbers(lane["launch"], count)):
                if link:
                    last += -(link // 2) if link % 2 == 0 else link // 2
                    links[i] = last
        for start, length, name, link in zip(starts, lengths, names, links, strict=True):
            events.append((lane["title"], start, start + length, data["names"][name], data["nameKinds"][name], link))
            if lane["launches"]:
                launches.append(events[-1])
    return events, launches


def test_packed_lanes_hold_every_device_event_to_the_nanosecond(tmp_path):
    for drawn in (read(GPU_SAMPLE), CASES["two_ranks"](tmp_path), CASES["copies"](tmp_path)):
        data = pack(drawn).data
        events, _ = unpacked(data)
        zero = min(int(frame["start_ns"].min()) for frame in (drawn.host, drawn.device, drawn.steps) if len(frame))
        device = drawn.device
        expected = sorted(
            zip(device["start_ns"] - zero, device["end_ns"] - zero, device["name"].astype(str), strict=True)
        )
        assert sorted(event[1:4] for event in events if "stream" in event[0]) == expected
        steps = drawn.steps
        marked = sorted(zip(steps["start_ns"] - zero, steps["end_ns"] - zero, steps["name"].astype(str), strict=True))
        assert sorted(event[1:4] for event in events if event[0].endswith("steps")) == marked


def test_each_event_has_its_launch_and_its_kind(tmp_path):
    drawn = timeline(
        tmp_path, op(0, 30, "aten::mm"), op(2, 20, "inner"), launch(5, 9, id=1), kernel(50, 80, id=1),
        launch(90, 95, id=2), kernel(100, 130, id=2, name="ncclDevKernel", stream=8), sync(140, 150, id=3),
        copy(160, 170, id=4), launch(151, 155, id=4, name="cudaMemcpyAsync"), kernel(60, 70, name="unlaunched"),
    )  # fmt: skip
    data = pack(drawn).data
    events, launches = unpacked(data)
    by_name = {event[3]: event for event in events}
    assert launches[by_name["gemm"][5]][1:3] == (5_000, 9_000)
    assert launches[by_name["ncclDevKernel"][5]][1:3] == (90_000, 95_000)
    assert by_name["unlaunched"][5] is None
    assert data["kinds"][by_name["ncclDevKernel"][4]] == "communication"
    assert data["kinds"][by_name["cudaStreamSynchronize"][4]] == "blocking call"
    assert "inner" not in by_name
    assert [lane["title"] for lane in data["lanes"]] == ["operators", "launches", "stream 7", "stream 8"]


def test_impossible_events_are_left_out_and_counted(tmp_path):
    packed = pack(CASES["broken"](tmp_path))
    assert packed.notes == ("1 event that cannot be true left out",)
    assert packed.data["length"] < 10**9


def many(count):
    """A timeline of so many kernels on four streams, each launched; times as a profiler writes them."""
    random = np.random.default_rng(5)
    stream = np.arange(count) % 4 + 7
    lengths = random.lognormal(8.3, 1.0, count).astype(np.int64) + 200
    starts = np.cumsum(np.roll(lengths, 1) + random.integers(1, 9000, count)) + 10**15 + 7
    names = [f"void kernel_{n % 300}<float, {n % 7}>(int, float*)" for n in random.integers(0, 3000, count)]
    ids = np.arange(1, count + 1)
    device = {"rank": ids * 0, "kind": ["kernel"] * count, "name": names, "start_ns": starts, "process": ids * 0 + 1,
              "end_ns": starts + lengths, "device": ids * 0, "stream": stream, "correlation": ids}  # fmt: skip
    host = {"rank": ids * 0, "kind": ["launch"] * count, "name": ["cudaLaunchKernel"] * count, "process": ids * 0 + 1,
            "thread": ids * 0 + 1, "start_ns": starts - 40_000, "end_ns": starts - 37_000,
            "correlation": ids}  # fmt: skip
    at = np.arange(1000) * 10**6 + 10**15
    samples = {"rank": at * 0, "series": ["kv.free_blocks"] * 1000, "time_ns": at, "device": at * 0, "value": at / 3.0}
    tables = {"device": device, "host": host, "samples": samples}
    return Timeline.build(Source("kineto", files=("many.json",)), tables, devices=(Device(0, 0, "NVIDIA H100"),))


def test_two_hundred_thousand_kernels_make_a_small_page():
    drawn = many(200_000)
    text = text_of(diagnose(drawn), drawn)
    assert len(text) < 25 * 200_000
    events, launches = unpacked(Page(text).data)
    assert len(events) == 400_000
    assert all(launches[event[5]][1] == event[1] - 40_000 for event in events if event[5] is not None)
    assert sum(event[5] is not None for event in events) == 200_000


def test_samples_are_exact():
    drawn = many(50)
    data = pack(drawn).data
    (series,) = data["series"]
    values = np.frombuffer(base64.b64decode(series["values"]), "<f8")
    assert values.tolist() == drawn.samples["value"].tolist()
    at = np.cumsum(numbers(series["at"], series["count"]))
    assert (at - at[0]).tolist() == (drawn.samples["time_ns"] - drawn.samples["time_ns"].min()).tolist()


def test_more_than_a_page_carries_is_cut_and_said(monkeypatch):
    monkeypatch.setattr(html_timeline, "MOST_EVENTS", 1000)
    monkeypatch.setattr(html_timeline, "MOST_LANES", 3)
    packed = pack(many(900))
    assert packed.notes[0] == "2 lanes with the fewest events left out"
    assert re.fullmatch(r"only the first 1,000 of 1,\d+ events", packed.notes[1])
    assert packed.events <= 1000


def test_times_too_far_apart_are_not_drawn():
    spans = {"name": ["a", "b"], "kind": ["kernel"] * 2, "start_ns": [0, 2**60], "end_ns": [5, 2**60 + 5]}
    packed = pack(Timeline.build(Source("kineto"), {"device": spans}))
    assert not packed.data
    assert "104 days" in packed.notes[0]


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_numbers_read_back(values):
    packed = base64.b64encode(varints(np.array(values, np.int64)))
    assert numbers(packed, len(values)) == values


def test_small_numbers_of_either_sign_stay_small():
    assert zigzag(np.array([0, -1, 1, -2, 2])).tolist() == [0, 1, 2, 3, 4]
