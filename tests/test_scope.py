"""Ranks, devices and steps that a user chooses, and what is wrong with a choice."""

import pytest
from builders import kernel, launch, step, timeline, trace, write

from diagtool import diagnose, read
from diagtool.config import Config
from diagtool.errors import UsageError
from diagtool.scope import Scope, choose
from diagtool.workflows.what_to_look_at import scope_of


@pytest.fixture
def two_ranks(tmp_path):
    for rank in (0, 3):
        events = [launch(0, 1, id=1), kernel(2, 9, id=1), kernel(9, 12, device=1, stream=9)]
        write(tmp_path / f"rank{rank}.json", trace(*events, rank=rank))
    return read(tmp_path)


def test_one_rank_and_one_device(two_ranks):
    chosen = choose(two_ranks, Scope(rank=3, device=1))
    assert {(device.rank, device.index) for device in chosen.devices} == {(3, 1)}
    assert len(chosen.device) == 1
    assert set(chosen.host["rank"]) == {3}
    found = diagnose(two_ranks, Scope(rank=3))
    assert {metric.labels["rank"] for result in found.results for metric in result.metrics if metric.labels} == {"3"}


@pytest.mark.parametrize(
    ("scope", "message", "hint"),
    [
        (Scope(rank=1), "no rank 1", "it has: 0, 3"), (Scope(device=7), "no device 7", "it has: 0, 1"),
        (Scope(steps=(0, 1)), "no steps 0:1", "no step marks"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused_with_what_is(two_ranks, scope, message, hint):
    with pytest.raises(UsageError, match=message) as error:
        choose(two_ranks, scope)
    assert hint in error.value.hint


def test_steps_are_positions_as_in_a_slice(tmp_path):
    built = timeline(tmp_path, *(step(at, at + 9, 100 + at) for at in range(0, 50, 10)), kernel(0, 5))
    names = {bounds: [str(name)[-3:] for name in choose(built, Scope(steps=bounds)).steps["name"]]
             for bounds in ((1, 3), (3, None), (None, 1), (-2, None))}  # fmt: skip
    assert names == {(1, 3): ["110", "120"], (3, None): ["130", "140"], (None, 1): ["100"], (-2, None): ["130", "140"]}
    with pytest.raises(UsageError, match="no steps 9: in the trace") as error:
        choose(built, Scope(steps=(9, None)))
    assert error.value.hint == "it has 5 steps, counted from 0"


@pytest.mark.parametrize(
    ("text", "bounds"),
    [("5:10", (5, 10)), ("5:", (5, None)), (":10", (None, 10)), ("-3:", (-3, None)), ("4", (4, 5)), ("-1", (-1, None))],
)
def test_ranges_as_typed(text, bounds):
    assert scope_of(Config(), steps=text).steps == bounds


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"steps": "x"}, "--steps is 'x'"), ({"steps": ""}, "--steps"), ({"steps": "1:2:3"}, "--steps"),
        ({"window": "stpes"}, "--window is 'stpes'"), ({"peak": "bw=3"}, "--peak: 'bw' is no peak"),
        ({"peak": "bandwidth=3.35"}, "not a plausible number"), ({"model": "qwen3-8c"}, "neither a preset"),
        ({"model": "qwen3-8b,tp=x"}, "tp is a number"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense(option, message):
    from diagtool.errors import DiagtoolError

    with pytest.raises(DiagtoolError, match=message):
        scope_of(Config(), **option)


def test_settings_hold_where_an_option_is_not_given():
    settings = Config(window="steps", model="qwen3-8b,tp=2", peak="bandwidth=1e12")
    scope = scope_of(settings)
    assert (scope.window, scope.model.tensor_parallel, scope.peaks.bandwidth) == ("steps", 2, 1e12)
    assert scope_of(settings, window="device").window == "device"
