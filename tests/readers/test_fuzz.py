"""Broken files never end in a traceback or in an impossible figure.

Every real trace under 1 MB is cut at random bytes, has bytes flipped, and has each field removed or retyped in turn;
``make fuzz`` (DIAGTOOL_FUZZ=all) does the same to the large ones. Without real traces the samples are broken.
"""

import gzip
import io
import json
import os
import random
import re
import zlib

import jsonschema
import pytest
from conftest import real_data
from samples import CPU_SAMPLE, GPU_SAMPLE
from test_diagnosis import SCHEMA

from diagtool import diagnose, read
from diagtool.diagnosis import to_json
from diagtool.errors import DiagtoolError
from diagtool.reports import REPORTS

ALL = os.environ.get("DIAGTOOL_FUZZ") == "all"
LIMIT_BYTES = 1 << 40 if ALL else 1 << 20
# How often a file is broken in each way; CI has ten minutes.
TIMES, TIMES_IF_LARGE, LARGE_BYTES = (10, 10, 1 << 40) if ALL else (6, 1, 1 << 20)
# Fields are removed and retyped in a trace of the first events of each category: every field, in a small file.
KEPT_OF_CATEGORY = 12
ODD_VALUES = (None, -1, 1e300, 10**30, "", "x", [], {}, True, 1.5, "NaN")
HEADER_KEYS = ("schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "traceEvents")


VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def files():
    folder = real_data()
    if folder is None:
        return []
    found = (path for path in sorted((folder / "traces").rglob("*")) if ".json" in path.name or ".raw" in path.name)
    return [path for path in found if path.stat().st_size <= LIMIT_BYTES]


FILES = files()
EVERY = [GPU_SAMPLE, CPU_SAMPLE, *FILES]
# Eight ranks of one program have the same fields: two of them will do.
FIELDS = [path for path in EVERY if ALL or not re.match(r"worker[2-7]_", path.name)]


def check_sound(path):
    """Diagnose a file: a sound diagnosis or a clear refusal; nothing else may happen."""
    try:
        diagnosis = diagnose(read(path))
    except DiagtoolError as error:
        assert "\n" not in error.message
        return None
    for metric in (metric for result in diagnosis.results for metric in result.metrics):
        assert metric.value is None or metric.unit != "fraction" or -1e-9 <= metric.value <= 1 + 1e-9, metric
        assert metric.value is None or metric.value >= 0, metric
    assert all(0 <= finding.lost_fraction <= 1 for finding in diagnosis.findings)
    return to_json(diagnosis)


def check_reports(path):
    """Every report that is text can be written of it, with and without its timeline."""
    timeline = read(path)
    diagnosis = diagnose(timeline)
    for report in REPORTS:
        if not report.of_table:
            for given in (timeline, None):
                out = io.StringIO()
                report.render(diagnosis, out, given)
                assert out.getvalue().endswith("\n")


def content(path):
    raw = path.read_bytes()
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def named(path):
    return path.name[:60]


def times(whole):
    return TIMES if len(whole) < LARGE_BYTES else TIMES_IF_LARGE


def seed(path):
    return random.Random(zlib.crc32(path.name.encode()))


@pytest.mark.parametrize("path", EVERY, ids=named)
def test_cut_at_random_bytes(path, tmp_path):
    chance = seed(path)
    for suffix, whole in ((".json", content(path)), (".json.gz", gzip.compress(content(path), 1, mtime=0))):
        for _ in range(times(content(path))):
            cut = tmp_path / f"cut{suffix}"
            cut.write_bytes(whole[: chance.randrange(len(whole) + 1)])
            check_sound(cut)


@pytest.mark.parametrize("path", EVERY, ids=named)
def test_flipped_bytes(path, tmp_path):
    chance = seed(path)
    for whole in (content(path), gzip.compress(content(path), 1, mtime=0)):
        for _ in range(times(content(path))):
            broken = bytearray(whole)
            for _ in range(chance.choice((1, 5, 50))):
                broken[chance.randrange(len(broken))] = chance.randrange(256)
            target = tmp_path / "flipped"
            target.write_bytes(broken)
            check_sound(target)


def shortened(data):
    """The trace with the first events of each category."""
    seen = {}
    kept = []
    for event in data["traceEvents"]:
        kind = (event.get("cat"), event.get("ph"))
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= KEPT_OF_CATEGORY:
            kept.append(event)
    return data | {"traceEvents": kept}


def first_of_each_category(events):
    chosen = {}
    for event in events:
        chosen.setdefault((event.get("cat"), event.get("ph")), event)
    return list(chosen.values())


def variants(data, chance):
    """The trace with each header key, each field and each argument of one event a category gone or of another type.

    CI does one of the two for each field; which one differs from file to file.
    """
    events = first_of_each_category(data["traceEvents"])
    for key in HEADER_KEYS:
        if key in data:
            kept = data.pop(key)
            yield f"without {key}"
            for value in ODD_VALUES if ALL else chance.sample(ODD_VALUES, 3):
                data[key] = value
                yield f"{key} = {value!r}"
            data[key] = kept
    for event in events:
        for holder in (event, event.get("args")):
            for field in list(holder) if isinstance(holder, dict) else ():
                kept = holder.pop(field)
                removed = chance.random() < 0.3
                if ALL or removed:
                    yield f"without {field}"
                for value in chance.sample(ODD_VALUES, 4 if ALL else 0 if removed else 1):
                    holder[field] = value
                    yield f"{field} = {value!r}"
                holder[field] = kept


@pytest.mark.parametrize("path", FIELDS, ids=named)
def test_each_field_removed_or_retyped(path, tmp_path):
    data = json.loads(content(path))
    if not isinstance(data, dict) or "traceEvents" not in data:
        assert check_sound(path) is None
        return
    target = tmp_path / "retyped.json"
    data = shortened(data)
    for number, what in enumerate(variants(data, seed(path))):
        target.write_text(json.dumps(data))
        text = check_sound(target)
        if text is not None and number % 20 == 0:
            assert VALIDATOR.is_valid(json.loads(text)), what
            check_reports(target)


@pytest.mark.parametrize("path", EVERY, ids=named)
def test_whole_file(path):
    if check_sound(path) is not None:
        check_reports(path)
