"""Events that cannot be true are named, left out and harm nothing else."""

import pytest
from builders import healthy, kernel, launch, op, recording, step, timeline, trace, write

from diagtool import diagnose, read


def diagnosed(tmp_path, *events):
    return diagnose(timeline(tmp_path, *events))


def doubts(found):
    return [finding for finding in found.findings if finding.cause == "trace-integrity"]


def steady(count=40, name="k", **fields):
    return [kernel(100 * n, 100 * n + 60, id=n + 1, name=name, **fields) for n in range(count)]


def bent(events, index, **change):
    return [event | change if number == index else event for number, event in enumerate(events)]


@pytest.mark.parametrize(("duration", "index"), [(5_000.0, 0), (5_000.0, 17), (3.6e9, 0), (3.6e9, 17), (3.6e9, 39)])
def test_an_impossible_duration_changes_nothing_else(tmp_path, duration, index):
    events = [*bent(steady(), index, dur=duration), recording(-10, 4_500), op(0, 4_400)]
    whole, found = diagnosed(tmp_path, *steady()), diagnosed(tmp_path, *events)
    assert found.metric("trace.impossible_events").value == 1
    assert found.metric("device.busy_fraction").value == pytest.approx(
        whole.metric("device.busy_fraction").value, abs=0.02
    )
    (doubt,) = doubts(found)
    assert doubt.evidence[0].what.startswith("duration of k,")
    assert doubt.evidence[0].value == pytest.approx(duration / 1e6)
    assert found.table("suspects").rows[0][0] == "k"


def test_the_last_event_may_not_outlast_all_that_was_recorded(tmp_path):
    found = diagnosed(tmp_path, *bent(steady(), 39, dur=3.6e9))
    assert found.table("suspects").rows[0][5] == "outlasts everything else recorded"
    assert found.window.seconds < 1


def test_an_event_may_not_end_after_the_recording(tmp_path):
    found = diagnosed(tmp_path, *bent(steady(), 39, dur=9_000.0), recording(0, 4_100))
    assert found.table("suspects").rows[0][5] == "ends after the recording ended"


def test_a_recording_that_ends_before_most_events_is_what_is_wrong(tmp_path):
    found = diagnosed(tmp_path, *healthy(), recording(0, 1))
    assert found.metric("trace.impossible_events").value == 0
    assert found.healthy


def test_a_collective_may_wait_beside_other_work_of_its_stream(tmp_path):
    events = [
        *(kernel(10 * n, 10 * n + 3) for n in range(60)),
        *(kernel(700 + n, 701 + n, name="ncclKernel") for n in range(3)),
    ]
    found = diagnosed(tmp_path, *events, kernel(5, 590, name="ncclKernel"), recording(0, 900))
    assert found.metric("trace.impossible_events").value == 0


def test_a_mark_of_an_hour_is_named_and_left_out(tmp_path):
    found = diagnose(timeline(tmp_path, *healthy(), step(0, 3.6e9)), window="steps")
    assert found.window.seconds < 1
    assert found.table("suspects").rows[0][0] == "ProfilerStep#1"


def test_what_a_cut_file_held_is_unknown(tmp_path):
    path = write(tmp_path / "cut.json", trace(*healthy()))
    path.write_bytes(path.read_bytes()[:-200])
    metric = diagnose(read(path)).metric("trace.lost_events")
    assert (metric.value, metric.reason) == (None, "unknown: a file is cut or damaged")


def test_a_stamp_from_another_day(tmp_path):
    found = diagnosed(tmp_path, *bent(steady(), 5, ts=9e13))
    assert found.table("suspects").rows[0][5] == "is stamped far from all other events"
    assert found.window.seconds == pytest.approx(3960e-6)


def test_a_single_long_kernel_of_its_own_name_is_kept_and_named(tmp_path):
    events = [*steady(30), kernel(3_000, 30_000, name="prefill", id=99), op(0, 30_100), recording(0, 30_200)]
    found = diagnosed(tmp_path, *events)
    assert found.metric("trace.impossible_events").value == 0
    (doubt,) = doubts(found)
    assert doubt.evidence[0].what == "prefill"
    assert found.table("suspects").rows[0][-1] == "no"


def test_ordinary_overlaps_are_no_doubt(tmp_path):
    events = [kernel(100 * n, 100 * n + 104, id=n + 1) for n in range(40)]
    assert doubts(diagnosed(tmp_path, *events)) == []


def test_too_few_events_to_say_what_is_usual(tmp_path):
    assert doubts(diagnosed(tmp_path, kernel(0, 1), kernel(2, 9_000), kernel(3, 4))) == []


def test_notes_of_reading_are_no_finding(tmp_path):
    built = timeline(tmp_path, *healthy(), kernel(0, 1, id="x", stream="7"))
    assert built.source.notes
    assert diagnose(built).findings == ()


def test_losses_of_reading_are_a_finding(tmp_path):
    found = diagnosed(tmp_path, *healthy(), kernel(0, 1) | {"dur": -4}, kernel(0, 1) | {"ts": None})
    (doubt,) = doubts(found)
    assert {item.what: item.value for item in doubt.evidence} == {
        "events that end before they start": 1, "events without a usable ts or dur": 1,
    }  # fmt: skip
    assert found.metric("trace.lost_events").value == 2


def test_work_launched_before_the_window_is_said(tmp_path):
    found = diagnosed(tmp_path, kernel(0, 30, id=1), launch(31, 32, id=2), kernel(40, 50, id=2))
    assert found.metric("trace.launched_before_fraction").value == 0.75


def test_all_events_impossible_leaves_no_window(tmp_path):
    events = [kernel(0, 1, id=1) | {"dur": -1}, op(0, 5)]
    found = diagnosed(tmp_path, *events)
    assert found.window is None
    assert doubts(found)
