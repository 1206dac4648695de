"""How much work was done: steps, tokens, and the operators that launched something."""

from builders import annotation, kernel, launch, op, step, timeline, trace, write
from samples import GPU_SAMPLE

from diagtool import read
from diagtool.analyses import work_done
from diagtool.context import prepare
from diagtool.scope import WHOLE, Scope


def work(built, scope=WHOLE):
    result = work_done.run(*prepare(built, scope))
    assert (result.analysis, result.metrics, result.findings) == ("work_done", (), ())
    return {row[:-1]: row[-1] for row in result.tables[0].rows}


def test_steps_and_tokens_of_the_sample():
    found = work(read(GPU_SAMPLE))
    assert found["step", "mark", "vllm"] == 4
    assert found["token", "phase", "decode"] == 8 + 9 + 10 + 11
    assert ("token", "phase", "prefill") not in found
    assert found["call", "operator", "aten::linear"] == 4 * 16 * 4


def test_operators_count_when_they_launch_work_of_the_window(tmp_path):
    built = timeline(
        tmp_path,
        op(0, 50, "aten::linear"), op(1, 40, "aten::addmm"), launch(10, 14, id=1), op(20, 30, "aten::view"),
        op(60, 70, "aten::empty"), op(80, 100, "aten::linear"), launch(85, 88, id=2, tid=9), launch(90, 94, id=3),
        op(120, 130, "aten::mul"), launch(122, 125, id=4), kernel(16, 60, id=1), kernel(95, 110, id=3),
    )  # fmt: skip
    assert work(built) == {("call", "operator", "aten::linear"): 2, ("call", "operator", "aten::addmm"): 1}


def test_work_of_chosen_steps_only(tmp_path):
    events = [
        event
        for n in range(6)
        for event in (
            step(n * 100, n * 100 + 90, n), op(n * 100 + 1, n * 100 + 20), launch(n * 100 + 2, n * 100 + 6, id=n + 1),
            kernel(n * 100 + 10, n * 100 + 80, id=n + 1),
        )
    ]  # fmt: skip
    built = timeline(tmp_path, *events)
    for scope, count in ((WHOLE, 6), (Scope(steps=(0, 2)), 2), (Scope(steps=(-3, None)), 3)):
        assert work(built, scope) == {("step", "mark", "ProfilerStep"): count, ("call", "operator", "aten::mm"): count}


def test_tokens_that_one_step_does_not_state_are_not_counted(tmp_path):
    marks = (annotation(0, 40, "step[DECODE bs=8]"), annotation(50, 90, "step[DECODE bs=4]"))
    assert work(timeline(tmp_path, *marks, kernel(0, 90)))["token", "phase", "decode"] == 12
    marks = (*marks, annotation(100, 140, "step[TARGET_VERIFY bs=4]"))
    assert work(timeline(tmp_path, *marks, kernel(0, 90))) == {("step", "mark", "sglang"): 3}


def test_every_rank_counts_its_own(tmp_path):
    events = [step(0, 90), op(0, 20), launch(2, 6, id=1), kernel(10, 80, id=1)]
    paths = [write(tmp_path / f"{rank}.json", trace(*events, rank=rank)) for rank in (0, 1)]
    assert set(work(read(*paths)).values()) == {2}


def test_at_most_300_operators_those_called_most(tmp_path):
    events = [
        event
        for n in range(400)
        for event in (
            op(n * 10, n * 10 + 9, f"op{n if n < 390 else 0}"), launch(n * 10 + 1, n * 10 + 2, id=n + 1),
            kernel(n * 10 + 3, n * 10 + 8, id=n + 1),
        )
    ]  # fmt: skip
    found = work(timeline(tmp_path, *events))
    assert len(found) == 300
    assert next(iter(found.items())) == (("call", "operator", "op0"), 11)
