"""Two captures side by side: what changed per unit of work, and when that cannot be said."""

import json
from dataclasses import replace

import pytest
from builders import annotation, copy, kernel, launch, op, recording, step, timeline, trace, write
from hypothesis import given, settings
from hypothesis import strategies as st

from diagtool import diagnose, read
from diagtool.comparison import CHANGED, GONE, NEW, SAME, UNJUDGED, compare, comparison_to_dict
from diagtool.diagnosis import from_dict, to_dict
from diagtool.reports.comparison_text import verdict
from diagtool.scope import WHOLE, Scope

A100 = {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "computeMinor": 0, "numSms": 108, "warpSize": 32}
MODEL = (("aten::mm", "gemm_128x128", 60), ("flash_attn", "flash_fwd_kernel", 40), ("aten::add", "add_kernel", 10))


def run(count=6, layers=4, *, model=MODEL, gap=10, marks="ProfilerStep#{}", slow=1.0, loading=0):
    """Steps of a model, each operator launched when the kernel before it has ended, ``gap`` us of Python between."""
    at, id = 0.0, 0
    for number in range(count):
        first = at
        at += 5 + loading
        for name, function, length in model * layers:
            id += 1
            yield op(at, at + 8, name)
            yield launch(at + 1, at + 5, id)
            yield kernel(at + 6, at + 6 + slow * length, id, function)
            at += 6 + slow * length + gap
        if loading:
            yield op(first + 1, first + 1 + loading, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
        if marks:
            yield annotation(first, at, marks.format(number))
    yield recording(-10, at + 10)


def unbounded():
    """A run without the span of the recording, so that more may follow."""
    return [event for event in run() if event["cat"] != "Trace"]


@pytest.fixture
def diagnosed(tmp_path):
    """Diagnosis of a run, through a file."""

    def make(scope=WHOLE, header=None, **how):
        return diagnose(timeline(tmp_path, *run(**how), **(header or {})), scope)

    return make


def by_name(changes):
    return {change.name: change for change in changes}


def test_nothing_changed_between_a_capture_and_itself(diagnosed):
    found = compare(diagnosed(), diagnosed())
    assert (found.unit.text, found.unit.before, found.unit.agreement, found.unit.calls_ratio) == ("step", 6, 1, 1)
    assert not found.changed
    assert found.refused == found.passed_over == found.notes == ()
    everything = (found.total, *found.accounting, *found.kernel_classes, *found.kernels, *found.findings)
    assert {(change.state, change.change_s) for change in everything} == {(SAME, 0.0)}
    assert verdict(found).startswith("Nothing changed: A takes ")


def test_more_python_between_launches_is_idle_host_per_step(diagnosed):
    found = compare(diagnosed(count=6), diagnosed(count=4, gap=30))
    assert (found.unit.before, found.unit.after) == (6, 4)
    # Twelve gaps of 20 us more a step, but for the one after the last kernel of all.
    assert found.total.change_s == pytest.approx(240e-6, rel=0.05)
    accounting = by_name(found.accounting)
    assert accounting["idle host"].change_s == pytest.approx(240e-6, rel=0.1)
    assert {change.name for change in found.accounting if change.state == CHANGED} == {"idle host"}
    assert {change.state for change in found.kernels} == {SAME}
    before, after = found.total.before.seconds_per_unit, found.total.after.seconds_per_unit
    assert f"B takes {100 * (after / before - 1):.1f} % longer per step" in verdict(found)


def test_fewer_steps_of_one_capture_change_nothing_per_step(tmp_path):
    built = timeline(tmp_path, *run(count=9))
    found = compare(*(diagnose(built, scope) for scope in (Scope(window="steps"), Scope(steps=(2, 6)))))
    assert (found.unit.before, found.unit.after) == (9, 4)
    assert not found.changed
    assert found.total.change_s == pytest.approx(0, abs=1e-9)


def test_the_accounting_sums_to_the_total(diagnosed):
    found = compare(diagnosed(loading=200), diagnosed(slow=1.3, gap=25))
    for side in ("before", "after"):
        parts = [getattr(change, side).seconds_per_unit for change in found.accounting]
        assert sum(parts) == pytest.approx(getattr(found.total, side).seconds_per_unit)
    assert sum(change.change_s for change in found.accounting) == pytest.approx(found.total.change_s)


def test_causes_come_and_go(diagnosed):
    found = compare(diagnosed(loading=900), diagnosed(gap=60))
    states = {change.name: change.state for change in found.findings}
    assert states["data-loading"] == GONE
    assert states["host-bound"] in (NEW, CHANGED)
    assert by_name(found.findings)["data-loading"].change_s < 0


def test_a_cause_that_may_be_there_unseen_is_unclear(diagnosed):
    """20 us of loading are over 2 % of a short step and under 2 % of a long one."""
    short, long = diagnosed(loading=20), diagnosed(loading=20, slow=3.5)
    assert "data-loading" in {finding.cause for finding in short.findings}
    assert "data-loading" not in {finding.cause for finding in long.findings}
    for pair in ((short, long), (long, short)):
        change = by_name(compare(*pair).findings)["data-loading"]
        assert (change.state, change.change_s) == ("unclear", None)


def test_kernels_meet_under_the_name_of_another_build(diagnosed):
    old = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, X>(int, float)"
    new = "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<float>, X>(int, float, int)"
    before, after = (
        diagnosed(model=(*MODEL, ("aten::mul", name, 20), ("aten::cat", only, 20)))
        for name, only in ((old, "cat_old"), (new, "cat_new"))
    )
    found = compare(before, after)
    states = by_name(found.kernels)
    assert states["cat_old"].state == GONE
    assert states["cat_new"].state == NEW
    assert states["cat_old"].after is None
    (joined,) = [change for change in found.kernels if "vectorized" in change.name]
    assert (joined.state, joined.before.calls_per_unit, joined.after.calls_per_unit) == (SAME, 4, 4)


def test_what_a_full_table_leaves_out_is_not_called_new(diagnosed):
    many = tuple(("aten::mul", f"small_{n}", 1 + n % 3) for n in range(498))
    before = diagnosed(count=2, layers=1, model=(*MODEL, *many, ("aten::mul", "least", 0.5)))
    after = diagnosed(count=2, layers=1, model=(*MODEL, *many[:490], ("aten::mul", "least", 0.5)))
    assert len(before.table("kernels").rows) == 500
    assert "least" not in {row[0] for row in before.table("kernels").rows}
    assert "least" in {row[0] for row in after.table("kernels").rows}
    names = by_name(compare(before, after).kernels)
    assert "least" not in names
    assert names["small_492"].state == GONE


def test_steps_with_other_work_are_compared_by_calls(diagnosed):
    found = compare(diagnosed(layers=4), diagnosed(layers=12))
    assert (found.unit.what, found.unit.before, found.unit.after) == ("call", 6 * 4, 6 * 12)
    assert "their steps do different work" in found.passed_over[0]
    assert found.passed_over[1] == "not both state their tokens"
    assert not found.changed
    assert found.unit.text in verdict(found)


def test_without_steps_34_and_30_calls_are_compared_per_call(diagnosed):
    model = (("aten::mm", "gemm", 10), ("flash_attn", "flash_fwd_kernel", 100), ("aten::add", "add_kernel", 2))
    slower = tuple(
        (name, function, length * 1.16 if name == "flash_attn" else length) for name, function, length in model
    )
    found = compare(*(
        diagnosed(count=1, layers=layers, model=of, marks="", gap=0) for layers, of in ((34, model), (30, slower))
    ))  # fmt: skip
    assert (found.unit.what, found.unit.before, found.unit.after) == ("call", 34, 30)
    assert found.unit.name == "flash_fwd_kernel"
    ratio = found.total.after.seconds_per_unit / found.total.before.seconds_per_unit
    assert ratio == pytest.approx(1.12, abs=0.01)
    assert found.total.after.seconds < found.total.before.seconds
    assert verdict(found).startswith("B takes 12.")
    assert "no step marks in A and B" in found.passed_over[0]


DECODE = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_{n}(sq{n}sk{kv}sqsq{n}sqsk{kv})"
PREFILL = "execute_2048_context_2(sq2048sk2048sqsq2097152sqsk2097152)_generation_0(sq0sk0sqsq0sqsk0)"


def test_steps_of_other_batches_are_compared_per_token(diagnosed):
    small, large = (diagnosed(marks=DECODE.format(n=n, kv=n * 100)) for n in (32, 64))
    found = compare(small, large)
    assert (found.unit.text, found.unit.before, found.unit.after) == ("decode token", 6 * 32, 6 * 64)
    assert found.notes == ()
    assert found.passed_over == ("a step carries 32 new tokens in A and 64 in B",)
    assert found.total.after.seconds_per_unit == pytest.approx(found.total.before.seconds_per_unit / 2)
    assert verdict(found).startswith("B takes 50.0 % less time per decode token")


def test_more_context_to_read_is_said(diagnosed):
    found = compare(*(diagnosed(marks=DECODE.format(n=32, kv=kv)) for kv in (32_785, 55_086)))
    assert found.unit.what == "step"
    assert found.notes == ("attention reads 32,785 KV tokens per step in A and 55,086 in B",)


def test_more_calls_per_step_are_said(diagnosed):
    found = compare(diagnosed(layers=10), diagnosed(layers=12))
    assert found.unit.what == "step"
    assert found.unit.calls_ratio == pytest.approx(1.2)
    assert "per step B makes 20.0 % more calls" in found.notes[0]


def test_other_devices_and_ranks_are_compared_and_said(tmp_path):
    here, there = (
        diagnose(read(write(tmp_path / "trace.json", trace(*run(), rank=rank, **header))))
        for rank, header in ((0, {}), (3, {"deviceProperties": [A100]}))
    )
    found = compare(here, there)
    assert found.refused == ()
    assert found.notes == (
        "the devices differ: NVIDIA H100 80GB HBM3 in A, NVIDIA A100-SXM4-80GB in B",
        "the ranks differ: 0 in A, 3 in B",
    )


def test_a_doubt_about_one_capture_is_said(tmp_path, diagnosed):
    events = [*run(), kernel(0, 1, name="backward") | {"dur": -3}]
    found = compare(diagnosed(), diagnose(timeline(tmp_path, *events)))
    assert found.refused == ()
    assert found.notes == ("B: part of the input could not be read; every figure is of what remained",)


def test_steps_that_cover_little_of_the_window_are_said(tmp_path, diagnosed):
    events = [*unbounded(), launch(40_000, 40_005, 900), kernel(40_006, 40_020, 900)]
    found = compare(diagnosed(), diagnose(timeline(tmp_path, *events)))
    assert any("the steps of B take" in note for note in found.notes)


OTHER = (("aten::convolution", "cudnn_conv", 80), ("aten::batch_norm", "bn_fw", 20), ("aten::relu", "relu_kernel", 10))


def refusals(before, after):
    found = compare(before, after)
    assert found.unit is None
    assert found.floor_s is None
    assert not found.changed
    everything = (found.total, *found.accounting, *found.kernels, *found.findings)
    assert {(change.state, change.change_s) for change in everything} == {(UNJUDGED, None)}
    assert verdict(found).startswith("No verdict")
    return found.refused


def test_two_models_are_not_compared(diagnosed):
    (reason,) = refusals(diagnosed(), diagnosed(model=OTHER))
    assert reason.startswith("they have hardly anything in common (0.0 % of the kernel time, 0.0 % of the operators)")


def test_models_that_share_operators_are_told_apart_by_their_calls(diagnosed):
    def layered(*counts):
        return tuple(part for part, count in zip(MODEL, counts, strict=True) for _ in range(count))

    (reason,) = refusals(diagnosed(model=layered(1, 1, 1)), diagnosed(model=layered(1, 4, 9)))
    assert reason.startswith("no unit of work is common to both: their steps do different work")
    assert "their calls agree at no ratio" in reason


def test_prefill_is_not_compared_with_decode(diagnosed):
    (reason,) = refusals(diagnosed(marks=DECODE.format(n=32, kv=3200)), diagnosed(marks=PREFILL))
    assert reason == "they are in different phases: 0.0 % of the new tokens of A are prefill, 100.0 % of B"


def test_a_capture_without_device_work_is_not_compared(tmp_path, diagnosed):
    nothing = diagnose(timeline(tmp_path, op(0, 10), op(20, 30)))
    assert refusals(diagnosed(), nothing) == ("B holds no device work",)
    assert refusals(nothing, nothing) == ("A and B hold no device work",)
    assert compare(diagnosed(), nothing).total.after is None


def test_other_numbers_of_devices_are_not_compared(tmp_path, diagnosed):
    paths = [write(tmp_path / f"{rank}.json", trace(*run(), rank=rank)) for rank in (0, 1)]
    both = diagnose(read(*paths))
    assert refusals(diagnosed(), both) == ("a unit of work of A is spread over 1 device, one of B over 2 devices",)
    found = compare(both, both)
    assert (found.unit.before, found.before.device_count, found.changed) == (6, 2, False)
    assert found.total.before.seconds == pytest.approx(both.window.seconds + both.window.judged_outside_s)


def test_windows_of_other_kinds_are_not_compared(diagnosed):
    (reason,) = refusals(diagnosed(), diagnosed(scope=Scope(window="steps")))
    assert reason.startswith("the windows are of different kinds: device in A, steps in B")


def test_a_file_that_was_cut_is_not_compared(tmp_path, diagnosed):
    path = write(tmp_path / "cut.json", trace(*run()))
    path.write_bytes(path.read_bytes()[:-2000])
    assert refusals(diagnosed(), diagnose(read(path))) == (
        "a file of B is cut or damaged, and how much is missing is not known",
    )


def test_a_capture_that_lost_much_is_not_compared(tmp_path, diagnosed):
    events = list(run())
    events[::20] = [event | {"dur": -1} for event in events[::20]]
    (reason,) = refusals(diagnosed(), diagnose(timeline(tmp_path, *events)))
    assert reason.endswith("events of B could not be read or cannot be true")


def test_one_event_over_half_of_a_window_is_not_compared(tmp_path, diagnosed):
    late = (op(8000, 31_000, "wait"), launch(9000, 9004, 901), kernel(9010, 30_000, 901, "giant"))
    giant = diagnose(timeline(tmp_path, *unbounded(), *late))
    (reason,) = refusals(diagnosed(), giant)
    assert reason == "one event takes over half of the window of B and may not be real: giant"
    assert compare(giant, giant).refused == ()


def test_a_diagnosis_without_counted_work_is_not_compared(diagnosed):
    known = diagnosed()
    older = replace(known, results=tuple(result for result in known.results if result.analysis != "work_done"))
    assert refusals(older, known) == ("a diagnosis does not say how much work was done: diagnose its trace again",)


def test_tables_of_another_shape_are_as_good_as_none(diagnosed):
    data = to_dict(diagnosed())
    for table in (table for result in data["results"] for table in result["tables"]):
        table["columns"] = [column | {"name": f"{column['name']}?"} for column in table["columns"]]
    assert refusals(from_dict(data), diagnosed()) == ("A holds no device work",)


def test_a_diagnosis_read_from_its_json_compares_as_the_capture_does(diagnosed):
    before, after = diagnosed(), diagnosed(gap=40)
    again = [from_dict(json.loads(json.dumps(to_dict(one)))) for one in (before, after)]
    assert compare(*again) == compare(before, after)


def test_json_begins_with_its_schema_and_holds_plain_values(diagnosed):
    for found in (compare(diagnosed(), diagnosed(gap=40)), compare(diagnosed(), diagnosed(model=OTHER))):
        data = comparison_to_dict(found)
        assert next(iter(data.items())) == ("schema", 1)
        assert json.loads(json.dumps(data, allow_nan=False))["total"]["name"] == "total"


def test_the_spread_is_of_times_from_step_to_step(diagnosed):
    spread = compare(diagnosed(count=5), diagnosed(count=1)).before.spread
    assert spread.count == 4
    assert spread.least_s == pytest.approx(spread.most_s)
    assert compare(diagnosed(), diagnosed(count=2)).after.spread is None


def test_copies_are_classes_of_their_own(tmp_path, diagnosed):
    copies = [
        event
        for n in range(6)
        for event in (launch(3000 + n, 3000.5 + n, 700 + n), copy(4000 + 100 * n, 4090 + 100 * n, 700 + n))
    ]
    found = compare(diagnose(timeline(tmp_path, *unbounded(), *copies)), diagnosed())
    gone = by_name(found.accounting)["copy h2d"]
    assert (gone.state, gone.change_s) == (CHANGED, pytest.approx(-90e-6))


@settings(max_examples=25)
@given(factors=st.tuples(st.floats(0.2, 5), st.integers(2, 8), st.integers(2, 8), st.integers(0, 50)))
def test_what_is_judged_is_the_time_per_step_whatever_their_number(tmp_path_factory, factors):
    slow, first, second, gap = factors
    folder = tmp_path_factory.mktemp("runs")
    before, after = (
        diagnose(timeline(folder, *run(count=count, slow=factor, gap=gap)), Scope(window="steps"))
        for count, factor in ((first, 1.0), (second, slow))
    )
    found = compare(before, after)
    assert (found.unit.before, found.unit.after) == (first, second)
    compute = by_name(found.accounting)["compute"]
    assert compute.change_s == pytest.approx((slow - 1) * 440e-6, abs=2e-8)
    assert found.total.change_s == pytest.approx((slow - 1) * 440e-6, abs=2e-8)


def captured(tmp_path, name, steps):
    """A capture of so many equal steps with a pause between them."""
    events = [
        event
        for number in range(steps)
        for event in (
            step(number * 1000, number * 1000 + 900, number),
            launch(number * 1000 + 5, number * 1000 + 9, id=number + 1),
            kernel(number * 1000 + 20, number * 1000 + 880, id=number + 1),
        )
    ]
    folder = tmp_path / name
    folder.mkdir()
    return diagnose(timeline(folder, *events))


def test_one_step_is_not_held_against_many(tmp_path):
    found = compare(captured(tmp_path, "a", 20), captured(tmp_path, "b", 1))
    assert "time between steps" in found.refused[0]
    assert compare(captured(tmp_path, "c", 20), captured(tmp_path, "d", 60)).refused == ()


def test_far_fewer_steps_are_said(tmp_path):
    found = compare(captured(tmp_path, "a", 20), captured(tmp_path, "b", 3))
    assert any("far fewer steps" in note for note in found.notes)
