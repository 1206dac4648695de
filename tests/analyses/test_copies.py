"""Copies by kind, size and rate."""

import pytest
from builders import copy, kernel, memset, timeline

from diagtool import diagnose

PAGEABLE = "Memcpy HtoD (Pageable -> Device)"
WITHIN = "Memcpy DtoD (Device -> Device)"


def test_rates_by_kind(tmp_path):
    found = diagnose(
        timeline(
            tmp_path, kernel(0, 5), copy(5, 9, bytes=4000), copy(10, 12, bytes=1000, name=PAGEABLE), memset(20, 21)
        )
    )
    assert found.metric("copy.rate", kind="h2d").value == pytest.approx(5000 / 6e-6)
    assert found.metric("copy.rate", kind="d2h").reason == "not-applicable: no such copy"
    rows = {row[:2]: row[2:] for row in found.table("copies").rows}
    assert rows["h2d", "pinned"][:3] == (1, pytest.approx(4e-6), 4000)
    assert rows["h2d", "pageable"][4] == pytest.approx(1000 / 2e-6)
    assert rows["set", None][0] == 1


def test_a_copy_without_its_size_has_no_rate(tmp_path):
    event = copy(0, 4)
    del event["args"]["bytes"]
    found = diagnose(timeline(tmp_path, event))
    assert found.metric("copy.rate", kind="h2d").reason.startswith("missing")


def test_exposed_bus_copies_are_a_finding_with_the_pin_where_it_helps(tmp_path):
    (one,) = diagnose(timeline(tmp_path, kernel(0, 60), copy(60, 100, name=PAGEABLE))).findings
    assert (one.cause, one.lost_fraction) == ("exposed-copy", 0.4)
    assert "pin_memory" in one.fix[1].command
    (pinned,) = diagnose(timeline(tmp_path, kernel(0, 60), copy(60, 100))).findings
    assert len(pinned.fix) == 1


def test_copies_within_the_device_are_no_bus_copies(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(0, 60), copy(60, 100, name=WITHIN)))
    assert found.findings == ()
    assert found.metric("copy.exposed_fraction").value == 0


def test_the_evidence_is_of_the_window(tmp_path):
    from builders import step

    from diagtool.scope import Scope

    events = [step(0, 100), step(100, 200, 2), copy(0, 90, bytes=90_000, name=PAGEABLE), copy(120, 180, bytes=30_000)]
    (one,) = [
        f for f in diagnose(timeline(tmp_path, *events), Scope(steps=(1, 2))).findings if f.cause == "exposed-copy"
    ]
    assert {item.what: item.value for item in one.evidence}["h2d copied"] == 30_000
    assert len(one.fix) == 1, "the copy that pinning would help is not in the window"
