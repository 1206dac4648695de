"""What every analysis promises: pure, survives empty tables, says why it was skipped."""

import pytest
from builders import annotation, decode_mark, kernel, launch, timeline
from samples import CPU_SAMPLE, GPU_SAMPLE

from diagtool import diagnose, read
from diagtool.analyses import ANALYSES
from diagtool.context import prepare
from diagtool.diagnosis import Source
from diagtool.metrics import METRICS
from diagtool.model_shapes import load
from diagtool.scope import Scope
from diagtool.timeline import Timeline


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)
def test_leaves_every_frame_untouched_and_is_repeatable(analysis):
    built, context = prepare(read(GPU_SAMPLE), Scope(model=load("llama-3.1-8b")))
    before = {name: frame.copy(deep=True) for name, frame in built.frames().items()}
    first = analysis.run(built, context)
    for name, frame in built.frames().items():
        assert frame.equals(before[name])
    assert analysis.run(built, context) == first
    assert first.analysis == analysis.name


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)
def test_survives_tables_that_it_does_not_need(analysis, tmp_path):
    marked = [annotation(0, 9, decode_mark(8, 4096)), launch(1, 2, id=1)]
    events = [kernel(3, 10, id=1), kernel(30, 40), *(marked if analysis.name == "roofline" else [])]
    built, context = prepare(timeline(tmp_path, *events), Scope(model=load("llama-3.1-8b")))
    needed = ("device", *analysis.needs, *(["host", "steps"] if analysis.name == "roofline" else []))
    assert all(len(frame) == 0 for name, frame in built.frames().items() if name not in needed)
    assert analysis.run(built, context).skipped == ""


def test_an_empty_timeline_is_diagnosed():
    found = diagnose(Timeline.build(Source("test")))
    assert found.window is None
    assert not found.healthy
    assert found.findings == ()


def test_a_window_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="known are device, steps"):
        diagnose(read(GPU_SAMPLE), window="stpes")


def test_skipped_analyses_say_why():
    found = diagnose(read(CPU_SAMPLE))
    skipped = {result.analysis: result.skipped for result in found.results if result.skipped}
    assert set(skipped) == {analysis.name for analysis in ANALYSES if "device" in analysis.needs}
    assert all("no device events" in reason and "198" in reason for reason in skipped.values())
    assert found.bound_by.resource == "unknown"


def test_every_metric_of_the_registry_is_made_by_some_analysis():
    found = diagnose(read(GPU_SAMPLE), Scope(model=load("llama-3.1-8b")))
    made = {metric.name for result in found.results for metric in result.metrics}
    assert made == set(METRICS)


def test_findings_are_ranked_by_what_they_cost():
    found = diagnose(read(GPU_SAMPLE))
    costs = [finding.lost_s for finding in found.findings]
    assert costs == sorted(costs, reverse=True)
    assert [finding.cause for finding in found.findings] == [
        "host-bound", "small-batch", "launch-bound", "exposed-communication", "sync-stall",
    ]  # fmt: skip
