"""The public types: registry, severity, JSON and its schema."""

import json
import math
from importlib import resources

import jsonschema
import pytest
from builders import healthy, timeline
from samples import CPU_SAMPLE, GPU_SAMPLE

from diagtool import diagnose, read
from diagtool.causes import CAUSE_NAMES, severity
from diagtool.diagnosis import Evidence, check, finding, from_dict, metric, to_json
from diagtool.metrics import METHODS, METRICS, UNITS

SCHEMA = json.loads(resources.files("diagtool").joinpath("diagnosis.schema.json").read_text())


def validate(diagnosis):
    data = json.loads(to_json(diagnosis))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    return data


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("sample", [GPU_SAMPLE, CPU_SAMPLE], ids=lambda path: path.stem)
@pytest.mark.parametrize("window", ["device", "steps"])
def test_samples_give_valid_json_that_reads_back(sample, window):
    diagnosis = diagnose(read(sample), window=window)
    data = validate(diagnosis)
    assert next(iter(data)) == "schema"
    assert from_dict(data) == diagnosis
    assert to_json(from_dict(data)) == to_json(diagnosis)


def test_schema_refuses_a_missing_value_without_a_reason(tmp_path):
    data = json.loads(to_json(diagnose(timeline(tmp_path, *healthy()))))
    data["results"][0]["metrics"][0] |= {"value": None, "reason": ""}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(data)


def test_schema_lists_what_the_code_uses():
    definitions = SCHEMA["$defs"]["metric"]["properties"]
    assert tuple(definitions["unit"]["enum"]) == UNITS
    assert tuple(definitions["method"]["enum"]) == METHODS


def test_registry_is_sound():
    for name, spec in METRICS.items():
        assert spec.name == name
        assert spec.unit in UNITS
        assert spec.better in ("lower", "higher", None)
        assert spec.definition.startswith(f"{name}/")
        assert spec.meaning.endswith(".")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_metric_is_a_number_or_unknown(value):
    with pytest.raises(ValueError, match="unknown value is None"):
        metric("time.idle_fraction", value)


def test_an_unknown_metric_has_a_reason():
    with pytest.raises(ValueError, match="neither a value nor a reason"):
        metric("time.idle_fraction", None)
    assert metric("time.idle_fraction", None, reason="missing").value is None


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (1.0, "critical"),
        (0.2, "critical"),
        (0.1999, "warning"),
        (0.05, "warning"),
        (0.0499, "info"),
        (0.02, "info"),
        (0.0199, None),
    ],
)
def test_severity_floors(share, expected):
    assert severity(share) == expected


def test_a_finding_names_a_cause_of_the_list_and_is_silent_below_the_floor():
    given = {"lost_s": 1.0, "lost_fraction": 0.01, "evidence": [Evidence("x", 1)]}
    assert finding("starved", "t", **given) is None
    assert finding("starved", "t", severity_at_least="info", **given).severity == "info"
    with pytest.raises(ValueError, match="not in the list"):
        finding("bad-luck", "t", **given)
    assert len(CAUSE_NAMES) == len(set(CAUSE_NAMES))


def test_lookup_by_name_and_labels(tmp_path):
    diagnosis = diagnose(timeline(tmp_path, *healthy()))
    assert diagnosis.metric("device.busy_fraction", rank="0", device="0").value == 1.0
    assert diagnosis.result("launch_gaps").metrics
    assert diagnosis.result("nothing") is None
    assert diagnosis.table("accounting").rows
    with pytest.raises(KeyError):
        diagnosis.metric("device.busy_fraction", rank="5")


def test_what_is_read_back_could_have_been_written(tmp_path):
    check(diagnose(read(GPU_SAMPLE)))


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("window", "seconds"), -1.0), (("window", "outside_s"), 1e308), (("findings", 0, "lost_s"), -1.0),
        (("findings", 0, "lost_fraction"), 5.0), (("results", 0, "metrics", 0, "value"), -1.0),
        (("results", 0, "metrics", 1, "value"), 1.5), (("results", 0, "tables", 0, "rows", 0, 3), -1.0),
        (("bound_by", "share"), 2.0), (("schema",), 2),
    ],
)  # fmt: skip
def test_an_impossible_figure_is_a_damaged_diagnosis(tmp_path, where, value):
    from diagtool.errors import UnreadableInput
    from diagtool.workflows.targets import diagnose_targets

    data = json.loads(to_json(diagnose(read(GPU_SAMPLE))))
    holder = data
    for key in where[:-1]:
        holder = holder[key]
    holder[where[-1]] = value
    path = tmp_path / "d.json"
    path.write_text(json.dumps(data))
    with pytest.raises(UnreadableInput, match="damaged diagnosis"):
        diagnose_targets([path])
