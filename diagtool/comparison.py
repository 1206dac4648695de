"""Two diagnoses side by side: what changed per unit of work, or why that cannot be said.

Pure and stdlib only: everything comes from the two diagnoses. Times are seconds per device, and per device and unit of
work where the captures have a unit in common; a whole window is never compared with another.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import PurePath
from statistics import median
from typing import Any

from diagtool import amounts
from diagtool.amounts import Amount, Amounts, device_count, number, rows_of
from diagtool.common_unit import Unit, Work, find, work_of
from diagtool.diagnosis import Diagnosis, Scalar
from diagtool.kernel_classes import normalised_name, short_name
from diagtool.metrics import TIME_CLASSES
from diagtool.units import count_text, listing, percent_text, plural

SCHEMA = 1
# A change smaller than this share of the first capture's unit is none: below it nothing is found in one capture either.
CHANGE_FLOOR = 0.02
# Where more than this share of the events is lost or cannot be true, the figures are of something else.
_MOST_LOST = 0.02
_MOST_MORE_CALLS = 1.05
_MOST_MORE_CONTEXT = 1.25
# Where the steps take less of the time than this, a figure per step says as much about what lies between them.
_LEAST_IN_STEPS = 0.8
# A capture of so many times fewer steps misses a noticeable part of the time between them.
_FEW_STEPS = 4
_LONE_STEP = "one step alone holds nothing of the time between steps, and the other capture holds that of many"


SAME, CHANGED, NEW, GONE, UNCLEAR, UNJUDGED = "same", "changed", "new", "gone", "unclear", "not comparable"


@dataclass(frozen=True, slots=True)
class Spread:
    """Times from one step to the next within one capture: how much it varies, not how sure a change is."""

    count: int
    median_s: float
    least_s: float
    most_s: float


@dataclass(frozen=True, slots=True)
class Capture:
    """What was compared. ``seconds`` is the mean over devices of the window and of the step time judged outside it.

    None without device work. ``steps`` are per device, and ``in_steps`` is the share of the time that they take; None
    where it is not known.
    """

    files: tuple[str, ...]
    devices: tuple[str, ...]
    ranks: tuple[int, ...]
    device_count: int
    window: str
    seconds: float | None
    steps: float
    in_steps: float | None
    bound_by: str
    spread: Spread | None


@dataclass(frozen=True, slots=True)
class Change:
    """Something in both captures, None where a capture does not have it. ``change_s`` is per unit, None without one.

    ``state``: ``new`` and ``gone`` are what only one capture has, ``changed`` what differs by the floor or more,
    ``same`` what does not. A finding that one capture does not have may cost it up to the floor unseen: where that
    decides, it is ``unclear`` and ``change_s`` is None. Without a unit everything is ``not comparable``.
    """

    name: str
    group: str
    state: str
    before: Amount | None
    after: Amount | None
    change_s: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from one capture (``before``) to another (``after``).

    ``refused`` says why neither is called faster; then ``unit``, ``floor_s`` and every figure per unit are None.
    ``passed_over`` says why better units than ``unit`` would not do. ``accounting`` sums to ``total``. ``findings`` are
    by cause, their time that of the costliest one; causes overlap and are not summed.
    """

    before: Capture
    after: Capture
    unit: Unit | None
    refused: tuple[str, ...]
    passed_over: tuple[str, ...]
    notes: tuple[str, ...]
    floor_s: float | None
    total: Change
    accounting: tuple[Change, ...]
    kernel_classes: tuple[Change, ...]
    kernels: tuple[Change, ...]
    findings: tuple[Change, ...]
    schema: int = SCHEMA

    @property
    def changed(self) -> bool:
        """Whether anything differs by the floor or more."""
        everything = (self.total, *self.accounting, *self.kernel_classes, *self.kernels, *self.findings)
        return any(matters(change, self.floor_s) for change in everything)


def compare(before: Diagnosis, after: Diagnosis) -> Comparison:
    """The comparison of two diagnoses; one that refuses to judge still has the totals of both."""
    first, second = capture_of(before), capture_of(after)
    refused = _refusals(before, after, first, second)
    works = work_of(before), work_of(after)
    unit: Unit | None = None
    passed_over: list[str] = []
    if not refused:
        if works[0] is None or works[1] is None:
            refused = ["a diagnosis does not say how much work was done: diagnose its trace again"]
        else:
            unit, passed_over = find(works[0], works[1])
            refused, passed_over = ([], passed_over) if unit else (passed_over, [])
            if unit is not None and _lone_step(unit):
                unit, refused = None, [_LONE_STEP]
    judge = _Judge(unit, first.seconds or 0.0, second.seconds or 0.0)
    return Comparison(
        before=first,
        after=second,
        unit=unit,
        refused=tuple(refused),
        passed_over=tuple(passed_over),
        notes=tuple(_notes(before, after, first, second, unit, works)),
        floor_s=judge.floor_s,
        total=judge.change("total", "", _amount(first.seconds), _amount(second.seconds)),
        accounting=judge.accounting(amounts.accounting(before), amounts.accounting(after)),
        kernel_classes=judge.changes(amounts.kernel_classes(before), amounts.kernel_classes(after)),
        kernels=judge.changes(*amounts.kernels(before, after)),
        findings=judge.findings(amounts.findings(before), amounts.findings(after)),
    )


def comparison_to_dict(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain data, ``schema`` first; the order of keys is stable."""
    data = asdict(comparison)
    return {"schema": data.pop("schema"), **data}


def matters(change: Change, floor_s: float | None) -> bool:
    """Whether a change is worth a line: it differs by the floor or more per unit."""
    return change.change_s is not None and floor_s is not None and abs(change.change_s) >= floor_s > 0


def capture_of(diagnosis: Diagnosis) -> Capture:
    """What a comparison says about one of its sides."""
    window, count = diagnosis.window, device_count(diagnosis)
    work = work_of(diagnosis)
    return Capture(
        files=tuple(PurePath(file).name for file in diagnosis.source.files),
        devices=tuple(dict.fromkeys(device.name for device in diagnosis.devices if device.name)),
        ranks=tuple(sorted({device.rank for device in diagnosis.devices})),
        device_count=count,
        window=window.kind if window else "",
        seconds=_seconds(diagnosis),
        steps=sum(work.steps.values()) if work else 0.0,
        in_steps=_in_steps(diagnosis),
        bound_by=diagnosis.bound_by.resource,
        spread=_spread(diagnosis),
    )


def _seconds(diagnosis: Diagnosis) -> float | None:
    window = diagnosis.window
    if window is None or window.seconds <= 0 or not device_count(diagnosis):
        return None
    return window.seconds + window.judged_outside_s


def _spread(diagnosis: Diagnosis) -> Spread | None:
    """From the start of one step to the start of the next: a step that runs ahead of its device lasts longer."""
    starts: dict[tuple[Scalar, Scalar], list[float]] = {}
    for rank, device, at in rows_of(diagnosis, "steps", "rank", "device", "at"):
        starts.setdefault((rank, device), []).append(number(at))
    lengths = [later - earlier for times in starts.values() for earlier, later in pairwise(sorted(times))]
    return Spread(len(lengths), median(lengths), min(lengths), max(lengths)) if len(lengths) > 1 else None


def _in_steps(diagnosis: Diagnosis) -> float | None:
    """Share of the window in the longest steps that a device may have, host or device; None without all of them."""
    rows, whole = rows_of(diagnosis, "steps", "duration"), _seconds(diagnosis)
    counted = sum(int(metric.value or 0) for metric in diagnosis.metrics("steps.count"))
    if not rows or len(rows) != counted or whole is None:
        return None
    return min(sum(number(duration) for (duration,) in rows) / whole / device_count(diagnosis), 1.0)


def _lone_step(unit: Unit) -> bool:
    """Whether one step is held against many: the time between steps is in their figure and not in its own."""
    fewer, more = sorted((unit.before, unit.after))
    return unit.what == "step" and fewer <= 1 and more >= _FEW_STEPS


# Why two captures cannot be compared at all.


def _refusals(before: Diagnosis, after: Diagnosis, first: Capture, second: Capture) -> list[str]:
    without = [side for side, one in (("A", first), ("B", second)) if one.seconds is None]
    if without:
        return [f"{listing(without)} {'hold' if len(without) > 1 else 'holds'} no device work"]
    reasons: list[str] = []
    if first.window != second.window:
        reasons.append(
            f"the windows are of different kinds: {first.window} in A, {second.window} in B; "
            "give --window device, or diagnose both the same way"
        )
    if first.device_count != second.device_count:
        devices = plural(first.device_count, "device"), plural(second.device_count, "device")
        reasons.append(f"a unit of work of A is spread over {devices[0]}, one of B over {devices[1]}")
    return reasons + _doubts(before, after)


def _doubts(before: Diagnosis, after: Diagnosis) -> list[str]:
    """What makes the figures of a capture doubtful; a giant event that both have may well be real."""
    giants = [_giants(one) for one in (before, after)]
    reasons: list[str] = []
    for side, one, own, other in (("A", before, giants[0], giants[1]), ("B", after, giants[1], giants[0])):
        if any(loss.unit == "file" for loss in one.source.lost):
            reasons.append(f"a file of {side} is cut or damaged, and how much is missing is not known")
        events = one.environment.get("events")
        lost = sum(loss.count for loss in one.source.lost if loss.unit != "file")
        lost += sum(int(metric.value or 0) for metric in one.metrics("trace.impossible_events"))
        if isinstance(events, int) and lost > _MOST_LOST * events:
            reasons.append(f"{plural(lost, 'event')} of {side} could not be read or cannot be true")
        if own - other:
            name = short_name(min(own - other))
            reasons.append(f"one event takes over half of the window of {side} and may not be real: {name}")
    return reasons


def _giants(diagnosis: Diagnosis) -> set[str]:
    rows = rows_of(diagnosis, "suspects", "event", "left out")
    return {normalised_name(str(event)) for event, left_out in rows if left_out == "no"}


# What to know when reading the comparison.


def _notes(
    before: Diagnosis,
    after: Diagnosis,
    first: Capture,
    second: Capture,
    unit: Unit | None,
    works: tuple[Work | None, Work | None],
) -> Iterator[str]:
    if first.devices != second.devices and first.devices and second.devices:
        yield f"the devices differ: {listing(first.devices)} in A, {listing(second.devices)} in B"
    if unit is not None and first.ranks != second.ranks:
        ranks = (listing([str(rank) for rank in one.ranks], 4) for one in (first, second))
        yield "the ranks differ: {} in A, {} in B".format(*ranks)
    # A token of a larger batch needs fewer calls: there that is no other work.
    if unit is not None and unit.what == "step" and not 1 / _MOST_MORE_CALLS <= unit.calls_ratio <= _MOST_MORE_CALLS:
        more = "more" if unit.calls_ratio > 1 else "fewer"
        yield (
            f"per step B makes {percent_text(abs(unit.calls_ratio - 1))} {more} calls of the {unit.basis} both "
            "have (median): part of the difference is a different amount of work"
        )
    if unit is not None and works[0] and works[1] and works[0].context and works[1].context:
        read = works[0].context / unit.before, works[1].context / unit.after
        if not 1 / _MOST_MORE_CONTEXT <= read[1] / read[0] <= _MOST_MORE_CONTEXT:
            tokens = [count_text(round(one)) for one in read]
            yield f"attention reads {tokens[0]} KV tokens per {unit.text} in A and {tokens[1]} in B"
    if (
        unit is not None
        and unit.what == "step"
        and _FEW_STEPS * min(unit.before, unit.after) < max(unit.before, unit.after)
    ):
        side = "A" if unit.before < unit.after else "B"
        yield (
            f"{side} holds far fewer steps than the other: of the time between steps, which it misses at its ends, it "
            "holds less, and looks faster for that"
        )
    if unit is not None and unit.what != "call":
        for side, one in (("A", first), ("B", second)):
            if one.in_steps is not None and one.in_steps < _LEAST_IN_STEPS:
                share = percent_text(one.in_steps)
                yield f"the steps of {side} take {share} of its time; what lies outside them counts too"
    doubts = [{f.title for f in one.findings if f.cause == "trace-integrity"} for one in (before, after)]
    for title in sorted(doubts[0] | doubts[1]):
        sides = [side for side, known in zip("AB", doubts, strict=True) if title in known]
        yield f"{listing(sides)}: {title[:1].lower()}{title[1:].rstrip('.')}"


@dataclass(frozen=True, slots=True)
class _Judge:
    """Turns amounts of two captures into changes per unit."""

    unit: Unit | None
    first_s: float
    second_s: float

    @property
    def floor_s(self) -> float | None:
        """The smallest change worth a line, per unit."""
        return CHANGE_FLOOR * self.first_s / self.unit.before if self.unit else None

    def change(self, name: str, group: str, before: Amount | None, after: Amount | None) -> Change:
        """One change; what only one capture has counts from or to nothing."""
        unit, floor_s = self.unit, self.floor_s
        if unit is None or floor_s is None:
            return Change(name, group, UNJUDGED, before, after, None)
        before, after = _per_unit(before, unit.before), _per_unit(after, unit.after)
        difference = _seconds_per_unit(after) - _seconds_per_unit(before)
        if before is None or after is None:
            return Change(name, group, NEW if before is None else GONE, before, after, difference)
        return Change(name, group, CHANGED if abs(difference) >= floor_s else SAME, before, after, difference)

    def changes(self, before: Amounts, after: Amounts) -> tuple[Change, ...]:
        """All changes, largest first, or by time where they are not judged."""
        found = [self.change(*key, before.get(key), after.get(key)) for key in dict.fromkeys((*before, *after))]
        return tuple(sorted(found, key=_weight, reverse=True))

    def findings(self, before: Amounts, after: Amounts) -> tuple[Change, ...]:
        """Changes of what causes cost; that a cause came or went is said where it is sure."""
        return tuple(sorted(map(self._as_sure_as_it_is, self.changes(before, after)), key=_weight, reverse=True))

    def _as_sure_as_it_is(self, change: Change) -> Change:
        if self.unit is None or self.floor_s is None or change.state not in (NEW, GONE):
            return change
        unseen = self.first_s / self.unit.before if change.state == NEW else self.second_s / self.unit.after
        if abs(change.change_s or 0.0) - CHANGE_FLOOR * unseen >= self.floor_s:
            return change
        return replace(change, state=UNCLEAR, change_s=None)

    def accounting(self, before: Amounts, after: Amounts) -> tuple[Change, ...]:
        """The classes of time in one order; what a capture does not have took none of its time."""
        keys = sorted({*before, *after}, key=lambda key: (_place(key[0]), key))
        none = _amount(0.0 if before else None), _amount(0.0 if after else None)
        return tuple(self.change(*key, before.get(key, none[0]), after.get(key, none[1])) for key in keys)


def _amount(seconds: float | None) -> Amount | None:
    return None if seconds is None else Amount(seconds)


def _place(name: str) -> int:
    first = name.split()[0] if name else ""
    return TIME_CLASSES.index(first) if first in TIME_CLASSES else len(TIME_CLASSES)


def _weight(change: Change) -> tuple[float, float]:
    amounts = [amount.seconds for amount in (change.before, change.after) if amount]
    return (abs(change.change_s or 0.0), max(amounts))


def _per_unit(amount: Amount | None, units: float) -> Amount | None:
    if amount is None:
        return None
    calls = None if amount.calls is None else amount.calls / units
    return replace(amount, seconds_per_unit=amount.seconds / units, calls_per_unit=calls)


def _seconds_per_unit(amount: Amount | None) -> float:
    return amount.seconds_per_unit or 0.0 if amount else 0.0
