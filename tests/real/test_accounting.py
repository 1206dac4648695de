"""The accounting of every real trace equals independent answers and the worked figures."""

import json
from importlib import resources

import jsonschema
import pytest
from conftest import reference_spans

from diagtool import diagnose, read
from diagtool.diagnosis import to_json

pytestmark = pytest.mark.real_data
SPANS = reference_spans()
SCHEMA = json.loads(resources.files("diagtool").joinpath("diagnosis.schema.json").read_text())
CLASSES = ("compute", "communication", "copy", "idle")
IDLE = ("starved", "sync", "host", "launch", "queue", "graph", "unknown")


def percent(diagnosis, *names):
    return [round(diagnosis.metric(name).value * 100, 2) for name in names]


def test_there_are_54_answers():
    assert len(SPANS) == 54


@pytest.mark.parametrize("name", SPANS or ["none"])
def test_busy_share_and_sums(traces, name):
    diagnosis = diagnose(read(traces / name))
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(to_json(diagnosis)))
    busy, span = SPANS[name]
    found = diagnosis.metric("device.busy_fraction").value
    assert found == pytest.approx(busy / span, abs=0.001)
    assert diagnosis.window.seconds == pytest.approx(span / 1e6, abs=1e-6)
    values = {metric.name: metric.value for result in diagnosis.results for metric in result.metrics}
    assert sum(values[f"time.{name}_fraction"] for name in CLASSES) == pytest.approx(1, abs=1e-9)
    assert sum(values[f"idle.{name}_fraction"] or 0 for name in IDLE) == pytest.approx(
        values["time.idle_fraction"], abs=1e-9
    )
    assert values["time.idle_fraction"] == pytest.approx(1 - found, abs=1e-9)
    assert values["trace.impossible_events"] == 0
    assert diagnosis.source.lost == ()


@pytest.mark.parametrize(
    ("name", "idle", "split"),
    [
        ("tracelens/b200/eager_trace.json.gz", 86.27, {"host": 75.29, "launch": 8.37, "queue": 2.61}),
        (
            "tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz", 83.79,
            {"host": 70.83, "launch": 9.58, "queue": 3.38},
        ),
        ("hta/v100_2rank_large.json.gz", 42.26, {"host": 34.61, "launch": 5.37, "queue": 2.28}),
        ("hta/cudagraph_a100_16rank_rank0.json.gz", 64.40, {"graph": 50.06, "queue": 5.96, "unknown": 7.45}),
    ],
)  # fmt: skip
def test_worked_idle_splits(traces, name, idle, split):
    diagnosis = diagnose(read(traces / name))
    assert percent(diagnosis, "time.idle_fraction") == [idle]
    assert percent(diagnosis, *(f"idle.{part}_fraction" for part in split)) == list(split.values())


def test_idle_after_a_blocking_call(traces):
    for name, share in (
        ("param/resnet_rtx2080ti.json.gz", 0.23),
        ("tracelens/h100/facebook_timesformer-base-finetuned-k400__1016002.json.gz", 0.37),
    ):
        diagnosis = diagnose(read(traces / name))
        after, idle = (diagnosis.metric(metric).value for metric in ("idle.after_sync_fraction", "time.idle_fraction"))
        assert after / idle == pytest.approx(share, abs=0.005)


def test_graph_holes_are_named_and_not_blamed_on_the_host(traces):
    diagnosis = diagnose(read(traces / "hta/cudagraph_a100_16rank_rank0.json.gz"))
    assert diagnosis.findings[0].cause == "untraced-work"
    assert "host-bound" not in {finding.cause for finding in diagnosis.findings}
    (doubt,) = [finding for finding in diagnosis.findings if finding.cause == "trace-integrity"]
    assert "first part of the graphs was not recorded" in doubt.title
    holes = {item.what: item.value for item in diagnosis.findings[0].evidence}
    assert holes["longest hole"] == pytest.approx(0.0647, abs=1e-4)


def test_a_gap_of_half_the_window_is_named_on_its_own(traces):
    diagnosis = diagnose(
        read(traces / "tracelens/inference/sglang_prefilldecode/sglang_Qwen3-8B_prefilldecode.json.gz")
    )
    (gap,) = diagnosis.table("large_gaps").rows
    assert gap[3] == pytest.approx(0.493, abs=0.001)
    assert gap[5] == "queue"
    assert gap[6].startswith("hipLaunchKernel -> ")
    first = diagnosis.findings[0]
    assert first.cause == "untraced-work"
    assert {item.what: item.value for item in first.evidence}["busy"] == pytest.approx(0.9976, abs=0.0005)
    assert diagnosis.bound_by.resource == "unknown"


def test_launched_before_the_window(traces):
    diagnosis = diagnose(read(traces / "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"))
    assert diagnosis.metric("trace.launched_before_fraction").value == pytest.approx(0.30, abs=0.01)


def test_overlaps_on_one_stream_are_counted(traces):
    diagnosis = diagnose(read(traces / "tracelens/b200/eager_trace.json.gz"))
    assert diagnosis.metric("launch.overlaps").value == 74
