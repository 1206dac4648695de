"""The unit of work that two captures have in common: a step, a token, or a call of something both run.

Time over a whole window says nothing about speed when one capture holds more work than the other. Whether two captures
do the same work is judged by calls: of the operators that launch work and of the kernels both have, how many are called
equally often. Collectives are left out, since every model has the same ones.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from diagtool.amounts import device_count, number, rows_of
from diagtool.diagnosis import Diagnosis
from diagtool.kernel_classes import normalised_name, short_name
from diagtool.units import count_text, listing, percent_text

# On 46 real traces, pair by pair: of two captures of one model at least 59 % of the kernel time or of the operators is
# called equally often per step, of different models at most 42 %; at any ratio, 65 % and 47 %.
_ROUGHLY, _CLOSELY = 1.25, 1.10
_LEAST_PER_STEP, _LEAST_AT_ANY_RATIO = 0.5, 0.6
# Two captures with less than this in common run different models.
_LEAST_COMMON = 0.2
_MOST_PHASE_SHIFT = 0.1
# Of the names that agree, those this near to all of them together are good enough to count.
_NEAR = 1.02
# What a reader would count first.
_TELLING = ("attention", "attn", "flash", "linear", "matmul", "addmm", "conv", "mm")


@dataclass(frozen=True, slots=True)
class Unit:
    """What both captures are divided by: ``before`` and ``after`` are how many of it one device did in each.

    ``what`` is step, token or call; ``name`` the kind of mark, the phase, or what is called. ``basis`` says by what the
    captures were found to do the same work: operators or kernels. ``agreement`` is the share of them that is called
    about equally often per unit, for tokens the share that both have; ``calls_ratio`` is the median of calls per unit,
    second over first.
    """

    what: str
    name: str
    before: float
    after: float
    basis: str
    agreement: float
    calls_ratio: float

    @property
    def text(self) -> str:
        """``step``, ``decode token``, ``call of aten::linear``."""
        if self.what == "step":
            return "step"
        return f"{self.name} token".lstrip() if self.what == "token" else f"call of {self.name}"


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls by name, and what each name counts for: the weights of a capture sum to 1."""

    counts: Mapping[str, float]
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one capture per device: ``steps`` by kind of mark, new ``tokens`` by phase, KV tokens read.

    Empty or 0 where it is not stated; ``calls`` are of operators and of kernels.
    """

    steps: Mapping[str, float]
    tokens: Mapping[str, float]
    context: float
    calls: Mapping[str, Calls]

    @property
    def prefill_share(self) -> float:
        """Of the new tokens."""
        return self.tokens.get("prefill", 0.0) / sum(self.tokens.values())


def work_of(diagnosis: Diagnosis) -> Work | None:
    """The work of a diagnosis; None where it was made before work was counted."""
    if diagnosis.table("work") is None:
        return None
    devices = max(device_count(diagnosis), 1)
    counts: dict[str, dict[str, float]] = {}
    for _, kind, name, count in rows_of(diagnosis, "work", "unit", "kind", "name", "count"):
        if number(count) > 0:
            counts.setdefault(str(kind), {})[str(name)] = number(count) / devices
    called = counts.get("operator", {})
    operators = Calls(called, {name: 1 / len(called) for name in called})
    return Work(
        counts.get("mark", {}),
        counts.get("phase", {}),
        sum(counts.get("context", {}).values()),
        {"kernels": _kernels(diagnosis, devices), "operators": operators},
    )


def find(before: Work, after: Work) -> tuple[Unit | None, list[str]]:
    """The best unit both have and why each better one would not do; or no unit, and why there is none."""
    if before.tokens and after.tokens and abs(before.prefill_share - after.prefill_share) > _MOST_PHASE_SHIFT:
        shares = [percent_text(one.prefill_share) for one in (before, after)]
        return None, [f"they are in different phases: {shares[0]} of the new tokens of A are prefill, {shares[1]} of B"]
    pairs = {basis: _Pair(before.calls[basis], after.calls[basis]) for basis in before.calls}
    common = {basis: pair.share(pair.ratios) for basis, pair in pairs.items()}
    if max(common.values()) < _LEAST_COMMON:
        shares = [_share_of(basis, share) for basis, share in common.items()]
        return None, [f"they have hardly anything in common ({', '.join(shares)}), as two different models would"]
    reasons: list[str] = []
    for candidate in (_step, _token, _call):
        found, reason = candidate(before, after, pairs)
        if found is not None:
            return found, reasons
        reasons.append(reason)
    return None, [f"no unit of work is common to both: {'; '.join(reasons)}"]


Attempt = tuple[Unit | None, str]


class _Pair:
    """Calls of two captures side by side: the ratio, second over first, of each name both have."""

    def __init__(self, before: Calls, after: Calls) -> None:
        self.before, self.after = before, after
        both = [name for name in before.counts if after.counts.get(name) and before.counts[name]]
        self.ratios = {name: after.counts[name] / before.counts[name] for name in both}

    def share(self, names: Mapping[str, float]) -> float:
        """What names weigh in the capture where they weigh less."""
        return round(min(sum(calls.weights[name] for name in names) for calls in (self.before, self.after)), 9)

    def near(self, ratio: float, tolerance: float) -> dict[str, float]:
        """The names whose ratio is another one, give or take the tolerance."""
        return {name: one for name, one in self.ratios.items() if ratio / tolerance <= one <= ratio * tolerance}

    def importance(self, name: str) -> tuple[float, int, float]:
        """What is best to count calls of: what weighs most, then what says most to a reader."""
        counts = self.before.counts[name] + self.after.counts[name]
        return (self.before.weights[name] + self.after.weights[name], _telling(name), counts)

    def largest_cluster(self) -> dict[str, float]:
        """The names that weigh most among those whose ratios lie closely together."""
        clusters = (
            {name: one for name, one in self.ratios.items() if low <= one <= low * _CLOSELY}
            for low in set(self.ratios.values())
        )
        return max(clusters, key=lambda names: (self.share(names), -min(names.values())), default={})


def _step(before: Work, after: Work, pairs: Mapping[str, _Pair]) -> Attempt:
    if not before.steps or not after.steps:
        sides = [side for side, work in (("A", before), ("B", after)) if not work.steps]
        return None, f"no step marks in {listing(sides)}"
    if len(before.steps) > 1 or before.steps.keys() != after.steps.keys():
        kinds = (listing(sorted(work.steps)) for work in (before, after))
        return None, "steps are marked as {} in A and as {} in B".format(*kinds)
    ((name, first),) = before.steps.items()
    second = after.steps[name]
    carried = sum(before.tokens.values()) / first, sum(after.tokens.values()) / second
    if all(carried) and not 1 / _ROUGHLY <= carried[1] / carried[0] <= _ROUGHLY:
        return None, f"a step carries {_count(carried[0])} new tokens in A and {_count(carried[1])} in B"
    basis, agreement = _best(pairs, lambda pair: pair.near(second / first, _ROUGHLY))
    if agreement < _LEAST_PER_STEP:
        return None, f"their steps do different work: only {_share_of(basis, agreement)} is called equally often"
    return _unit("step", name, (first, second), pairs[basis], basis, agreement), ""


def _token(before: Work, after: Work, pairs: Mapping[str, _Pair]) -> Attempt:
    if not before.tokens or not after.tokens:
        return None, "not both state their tokens"
    basis, common = _best(pairs, lambda pair: pair.ratios)
    if common < _LEAST_PER_STEP:
        return None, f"their tokens cost different work: only {_share_of(basis, common)} is in both"
    phases = {*before.tokens, *after.tokens}
    name = phases.pop() if len(phases) == 1 else ""
    first, second = (sum(work.tokens.values()) for work in (before, after))
    return _unit("token", name, (first, second), pairs[basis], basis, common), ""


def _call(before: Work, after: Work, pairs: Mapping[str, _Pair]) -> Attempt:
    clusters = {basis: pair.largest_cluster() for basis, pair in pairs.items()}
    basis, agreement = _best(pairs, lambda pair: pair.largest_cluster())
    if agreement < _LEAST_AT_ANY_RATIO:
        return None, f"their calls agree at no ratio: at most {_share_of(basis, agreement)} at one"
    members, pair = clusters[basis], pairs[basis]
    # Few calls are a coarse measure: what is called once a step may be cut off at either end of a window.
    usual = sum(pair.after.counts[name] for name in members) / sum(pair.before.counts[name] for name in members)
    near = [name for name, ratio in members.items() if usual / _NEAR <= ratio <= usual * _NEAR]
    counted = max(near, key=pair.importance, default="") or min(members, key=lambda name: abs(members[name] - usual))
    shown = short_name(counted) if basis == "kernels" else counted
    first, second = pair.before.counts[counted], pair.after.counts[counted]
    return _unit("call", shown, (first, second), pair, basis, agreement), ""


def _unit(what: str, name: str, counts: tuple[float, float], pair: _Pair, basis: str, agreement: float) -> Unit:
    return Unit(what, name, *counts, basis, agreement, _weighted_median(pair) * counts[0] / counts[1])


def _best(pairs: Mapping[str, _Pair], chosen: Callable[[_Pair], Mapping[str, float]]) -> tuple[str, float]:
    """The basis by which most agrees, and how much."""
    shares = {basis: pair.share(chosen(pair)) for basis, pair in pairs.items()}
    basis = max(shares, key=lambda one: shares[one])
    return basis, shares[basis]


def _weighted_median(pair: _Pair) -> float:
    """The ratio in the middle of what both have, by weight."""
    weights = {name: pair.before.weights[name] + pair.after.weights[name] for name in pair.ratios}
    members = sorted((ratio, weights[name]) for name, ratio in pair.ratios.items())
    half, passed = sum(weight for _, weight in members) / 2, 0.0
    for ratio, weight in members:
        passed += weight
        if passed >= half:
            return ratio
    return 1.0


def _telling(name: str) -> int:
    return max((len(_TELLING) - place for place, word in enumerate(_TELLING) if word in name.lower()), default=0)


def _kernels(diagnosis: Diagnosis, devices: int) -> Calls:
    counts: dict[str, float] = {}
    times: dict[str, float] = {}
    for kernel, kind, calls, time in rows_of(diagnosis, "kernels", "kernel", "class", "calls", "time"):
        if kind != "collective" and number(calls) > 0:
            name = normalised_name(str(kernel))
            counts[name] = counts.get(name, 0.0) + number(calls) / devices
            times[name] = times.get(name, 0.0) + number(time)
    whole = sum(times.values())
    return Calls(counts, {name: time / whole if whole else 0.0 for name, time in times.items()})


def _share_of(basis: str, share: float) -> str:
    return f"{percent_text(share)} of the {'kernel time' if basis == 'kernels' else 'operators'}"


def _count(value: float) -> str:
    return count_text(round(value))
