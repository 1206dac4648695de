"""The scripts of the HTML report, run by node: what they decode, search and draw from agrees with Python."""

import json
import shutil
import subprocess
from importlib import resources

import numpy as np
import pytest
from builders import healthy, timeline
from reports.test_html_timeline import many, unpacked
from samples import GPU_SAMPLE

from diagtool import read
from diagtool.reports.html_timeline import pack
from diagtool.units import duration_text, percent_text

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed: the page's scripts are not run")
SCRIPTS = resources.files("diagtool.reports")

# A program that reads {data, ...} on stdin, has the functions as T and the decoded lanes as lanes, and prints JSON.
HEAD = """
const T = require(process.argv[1]);
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const lanes = given.data ? given.data.lanes.map(T.lane) : [];
const say = (value) => console.log(JSON.stringify(value));
"""


def run(program, **given):
    path = str(SCRIPTS.joinpath("timeline_data.js"))
    done = subprocess.run(
        [NODE, "-e", HEAD + program, path],
        input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ["page.js", "timeline_data.js", "timeline.js"])
def test_scripts_parse(name):
    done = subprocess.run([NODE, "--check", str(SCRIPTS.joinpath(name))], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_events_decode_as_they_were_packed():
    for drawn in (read(GPU_SAMPLE), many(3000)):
        data = pack(drawn).data
        events, _ = unpacked(data)
        seen = run(
            "say(lanes.flatMap((lane) => [...lane.starts].map((start, i) =>"
            " [lane.title, start, lane.ends[i], given.data.names[lane.names[i]], given.data.nameKinds[lane.names[i]],"
            " lane.launch && lane.launch[i] >= 0 ? lane.launch[i] : null])));",
            data=data,
        )
        assert seen == [list(event) for event in events]


def test_samples_decode_as_they_were_packed():
    drawn = many(50)
    seen = run("const one = T.series(given.data.series[0]); say([...one.values]);", data=pack(drawn).data)
    assert seen == drawn.samples["value"].tolist()


def test_times_over_32_bits_are_exact(tmp_path):
    drawn = timeline(tmp_path, *(event | {"ts": event["ts"] * 1e6} for event in healthy(3)))
    seen = run("say(lanes.map((lane) => [...lane.ends]));", data=pack(drawn).data)
    zero = int(min(drawn.host["start_ns"].min(), drawn.device["start_ns"].min()))
    assert seen[-1] == (drawn.device["end_ns"] - zero).tolist()
    assert max(seen[-1]) > 2**40


def test_the_visible_range_holds_all_that_can_be_seen():
    data = pack(many(2000)).data
    events, _ = unpacked(data)
    length = data["length"]
    views = [(0, length), (length // 3, length // 3 + 50_000), (length // 2, length // 2 + 1), (length, length * 2)]
    found = run(
        "say(given.views.map(([a, b]) => lanes.map((lane) => { const [from, to] = T.visible(lane, a, b);"
        " return [from, to, T.among(lane, a, b).count]; })));",
        data=data, views=views,
    )  # fmt: skip
    lanes = {}
    for event in events:
        lanes.setdefault(event[0], []).append(event)
    for (a, b), ranges in zip(views, found, strict=True):
        for (first, end, count), lane in zip(ranges, lanes.values(), strict=True):
            seen = [i for i, event in enumerate(lane) if event[1] < b and event[2] >= a]
            assert seen == [i for i in range(first, end) if lane[i][2] >= a]
            assert count == len(seen)


@pytest.mark.parametrize("columns", [7, 300, 20_000])
def test_decimation_hides_nothing_and_adds_up(columns):
    """Every event is a box or leaves a mark; busy is the length of the union; no column is over-full."""
    data = pack(read(GPU_SAMPLE)).data
    length = data["length"]
    found = run(
        "const kinds = given.data.kinds.length;"
        "say(lanes.map((lane) => { const f = T.decimate(lane, given.data.nameKinds, kinds, -1, given.length + 1,"
        " given.columns); return {boxes: f.boxes, covered: [...f.covered], present: [...f.present], busy: f.busy,"
        " starts: [...lane.starts], ends: [...lane.ends]}; }));",
        data=data, length=length, columns=columns,
    )  # fmt: skip
    for lane in found:
        starts, ends = np.array(lane["starts"]), np.array(lane["ends"])
        scale = columns / (length + 2)
        boxed = {box[0] for box in lane["boxes"]}
        present = np.array(lane["present"])
        for i, start in enumerate(starts):
            assert i in boxed or present[min(int((start + 1) * scale), columns - 1)]
        reach = np.maximum.accumulate(ends)
        union = ends[0] - starts[0] + np.maximum(reach[1:] - np.maximum(starts[1:], reach[:-1]), 0).sum()
        assert lane["busy"] == pytest.approx(union / (length + 2), rel=1e-9)
        covered = np.array(lane["covered"]).reshape(-1, columns).sum(axis=0)
        assert covered.max(initial=0) <= 1 + 1e-4
        drawn = covered.sum() + sum(right - left for _, left, right, overlaps in lane["boxes"] if not overlaps)
        assert drawn == pytest.approx(union * scale, rel=1e-3)


def test_times_and_shares_are_written_as_in_the_rest_of_the_report():
    times = [0, 1, 999, 1000, 1234, 99_990, 100_000, 999_499, 999_500, 1_234_567, 84_490_000, 1_730_000_000, 10**13]
    shares = [0, 0.0001, 0.0005, 0.1234, 0.9994, 0.9996, 1]
    seen = run("say([given.times.map(T.duration), given.shares.map(T.percent)]);", times=times, shares=shares)
    assert seen == [[duration_text(time / 1e9) for time in times], [percent_text(share) for share in shares]]


def test_an_axis_has_round_marks_that_differ():
    views = [(0, 84e6), (1e6, 1.0001e6), (5e9, 5e9 + 300), (-10, 40), (0, 7e12)]
    for marks, (start, end) in zip(
        run("say(given.views.map(([a, b]) => T.ticks(a, b, 10)));", views=views), views, strict=True
    ):
        assert 3 <= len(marks) <= 12
        assert len({words for _, words in marks}) == len(marks)
        assert all(start <= at <= end for at, _ in marks)
