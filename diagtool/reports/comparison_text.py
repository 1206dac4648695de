"""What every report of a comparison says: the verdict in sentences, and the tables as text, ready to be laid out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diagtool.amounts import Amount
from diagtool.comparison import CHANGE_FLOOR, GONE, NEW, SAME, Capture, Change, Comparison, matters
from diagtool.kernel_classes import short_name
from diagtool.units import count_text, duration_text, listing, percent_text, plural

MORE, LESS = "more", "less"
_LARGEST = 3
_MOST_CLASSES, _MOST_KERNELS, _MOST_TOTALS = 8, 12, 6
# Classes of time that take less than this of both captures are one line together.
_LEAST_CLASS = 0.001
_TWICE = 2.0
_NONE = "none"
_OVERLAP = "Causes overlap: their times do not add up. What costs less than 2 % of a capture is not found in it."
_CAME_OR_WENT = {NEW: "came", GONE: "went"}


@dataclass(frozen=True, slots=True)
class Row:
    """Cells of one line, the first a name; ``direction`` is MORE or LESS time where it changed, else empty."""

    cells: tuple[str, ...]
    direction: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One table and the sentences under it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    below: tuple[str, ...] = ()


def looked_at(capture: Capture) -> list[str]:
    """What one side is, in a few words each: files, devices, steps, time."""
    parts = [capture.files[0] if len(capture.files) == 1 else plural(len(capture.files), "file")]
    devices = listing(capture.devices, 2) or "unnamed device"
    if capture.device_count:
        parts.append(devices if capture.device_count == 1 else f"{devices} x {capture.device_count}")
    if capture.steps:
        parts.append(f"{_count(capture.steps)} step{'' if capture.steps == 1 else 's'}")
    return [*parts, "no device work" if capture.seconds is None else duration_text(capture.seconds)]


def verdict(comparison: Comparison) -> str:
    """The first sentence."""
    if comparison.refused or comparison.unit is None:
        return "No verdict: A and B cannot be compared."
    unit, total = comparison.unit.text, comparison.total
    before, after = (_seconds(amount) for amount in (total.before, total.after))
    if not comparison.changed:
        return f"Nothing changed: A takes {duration_text(before)} per {unit}, B {duration_text(after)}."
    if total.state == SAME:
        return f"B takes as long per {unit} as A: {duration_text(after)} and {duration_text(before)}."
    ratio = after / before
    how = f"{percent_text(ratio - 1)} longer" if ratio > 1 else f"{percent_text(1 - ratio)} less time"
    if ratio >= _TWICE:
        how = f"{ratio:.1f} times as long"
    return f"B takes {how} per {unit}: {duration_text(after)} instead of {duration_text(before)}."


def explanation(comparison: Comparison) -> Iterator[str]:
    """The sentences after the first: why there is no verdict, or what made the difference and how sure it is."""
    for reason in comparison.refused:
        yield f"{reason[0].upper()}{reason[1:]}."
    if comparison.refused:
        yield "The totals below stand side by side; they say nothing about faster or slower."
    largest = [change for change in comparison.accounting if matters(change, comparison.floor_s)]
    largest.sort(key=lambda change: -abs(change.change_s or 0.0))
    if largest:
        said = (_contribution(change, comparison) for change in largest[:_LARGEST])
        yield f"Largest changes: {', '.join(said)}."
    elif comparison.changed:
        yield "No class of time changed; see the tables for what did."
    causes = [change for change in comparison.findings if matters(change, comparison.floor_s)]
    if causes:
        yield f"Causes: {', '.join(_cause(change) for change in causes[:_LARGEST])}."
    paces = comparison.before.bound_by, comparison.after.bound_by
    if not comparison.refused and paces[0] != paces[1] and "unknown" not in paces:
        yield f"What sets the pace: {paces[0]} in A, {paces[1]} in B."
    for note in comparison.notes:
        yield f"{note[0].upper()}{note[1:]}."
    yield from _sureness(comparison)


def _cause(change: Change) -> str:
    word = _CAME_OR_WENT.get(change.state)
    return f"{change.name} {word} ({signed(change.change_s)})" if word else f"{change.name} {signed(change.change_s)}"


def _contribution(change: Change, comparison: Comparison) -> str:
    """A class of time and its change; with compute comes the class of kernels that changed most in that direction."""
    text = f"{change.name} {signed(change.change_s)}"
    if change.name == "compute":
        alike = (
            kernels
            for kernels in comparison.kernel_classes
            if kernels.name != "collective"
            and matters(kernels, comparison.floor_s)
            and ((kernels.change_s or 0.0) > 0) == ((change.change_s or 0.0) > 0)
        )
        most = next(alike, None)
        text += f" ({most.name} {signed(most.change_s)})" if most else ""
    return text


def _sureness(comparison: Comparison) -> Iterator[str]:
    unit = comparison.unit
    if unit is not None:
        counts = f"{_count(unit.before)} in A, {_count(unit.after)} in B"
        kind = f" ({unit.name})" if unit.what == "step" else ""
        each = " on each device" if comparison.before.device_count > 1 else ""
        shared = "kernel time" if unit.basis == "kernels" else "operators"
        alike = f"; calls per {unit.what} agree for {percent_text(unit.agreement)} of the {shared}"
        yield f"Unit of work: {unit.text}{kind}, {counts}{each}{alike if unit.what != 'token' else ''}."
        for better, reason in zip(("step", "token"), comparison.passed_over, strict=False):
            yield f"Not per {better}: {reason}."
    varies = f" From step to step {'; '.join(_spreads(comparison))}." if unit and [*_spreads(comparison)] else ""
    yield f"One sample each: no significance.{varies}"


def _spreads(comparison: Comparison) -> Iterator[str]:
    for side, spread in (("A", comparison.before.spread), ("B", comparison.after.spread)):
        if spread is not None:
            least, middle, most = (duration_text(s) for s in (spread.least_s, spread.median_s, spread.most_s))
            yield f"{side} takes {least} to {most}, median {middle}"


def sections(comparison: Comparison) -> Iterator[Section]:
    """The tables: accounting, kernels by class, kernels, findings; those without a line are left out.

    Beside a capture without device work only the accounting of the other stands.
    """
    per = f", per {comparison.unit.text}" if comparison.unit else " (totals, not comparable)"
    yield _accounting(comparison, f"Where the time went{per}")
    if comparison.before.seconds is None or comparison.after.seconds is None:
        return
    found = (
        _kernels(comparison, comparison.kernel_classes, f"Kernel classes{per}", "class", _MOST_CLASSES),
        _kernels(comparison, comparison.kernels, f"Kernels{per}", "kernel", _MOST_KERNELS),
        _findings(comparison, f"Findings: time lost{per}"),
    )
    yield from (section for section in found if section.rows or section.below)


def signed(seconds: float | None) -> str:
    """A change with its sign: ``+1.20 ms``."""
    value = seconds or 0.0
    return f"{'-' if value < 0 else '+'}{duration_text(abs(value))}"


def _accounting(comparison: Comparison, title: str) -> Section:
    judged = comparison.unit is not None
    wholes = [max(_seconds(amount), 1e-12) for amount in (comparison.total.before, comparison.total.after)]

    def is_small(change: Change) -> bool:
        parts = (_seconds(change.before) / wholes[0], _seconds(change.after) / wholes[1])
        return max(parts) < _LEAST_CLASS

    small = [change for change in comparison.accounting if is_small(change)]
    changes = [(change.name, change) for change in comparison.accounting if change not in small]
    if any(_seconds(amount) for change in small for amount in (change.before, change.after)):
        changes.append(("other", _together(small)))
    rows = [_time_row(name, change, judged) for name, change in (*changes, ("total", comparison.total))]
    below: tuple[str, ...] = ()
    if comparison.floor_s is not None and comparison.unit is not None:
        floor = f"{CHANGE_FLOOR * 100:.0f} % of A's ({duration_text(comparison.floor_s)})"
        below = (f"A change of less than {floor} counts as none.",)
    return Section(title, ("", "A", "B", "change") if judged else ("", "A", "B"), tuple(rows), below)


def _together(changes: Sequence[Change]) -> Change:
    """Classes that are not worth a line of their own."""
    sides = [change.before for change in changes], [change.after for change in changes]
    before, after = (None if None in side else Amount(sum(map(_seconds, side))) for side in sides)
    return Change("other", "", SAME, before, after, None)


def _kernels(comparison: Comparison, changes: Sequence[Change], title: str, what: str, most: int) -> Section:
    columns = (what, "calls A", "calls B", "A", "B")
    if comparison.unit is None:
        largest = sorted(changes, key=lambda one: -max(_seconds(one.before), _seconds(one.after)))
        return Section(title, columns, tuple(Row(_kernel_cells(one)) for one in largest[:_MOST_TOTALS]))
    listed = [change for change in changes if matters(change, comparison.floor_s)]
    rows = tuple(Row((*_kernel_cells(one), signed(one.change_s)), _direction(one)) for one in listed[:most])
    return Section(title, (*columns, "change"), rows, tuple(_unlisted(changes, listed, most, what)))


def _unlisted(changes: Sequence[Change], listed: Sequence[Change], most: int, what: str) -> Iterator[str]:
    """What the table does not name, counted."""
    if len(listed) > most:
        yield f"and {plural(len(listed) - most, 'more change')}"
    rest = [change for change in changes if change not in listed]
    states = [(NEW, "only in B"), (GONE, "only in A")]
    counted = [(sum(change.state == state for change in rest), where) for state, where in states]
    if what == "kernel" and any(count for count, _ in counted):
        named = listing([f"{plural(count, 'kernel')} {where}" for count, where in counted if count])
        net = sum(change.change_s or 0.0 for change in rest)
        yield f"Too small to list: {named}; all that is not listed, together: {signed(net)}."


def _kernel_cells(change: Change) -> tuple[str, ...]:
    calls = (_calls(amount) for amount in (change.before, change.after))
    name = short_name(change.name) if change.group else change.name
    return (name, *calls, _time(change.before), _time(change.after))


def _findings(comparison: Comparison, title: str) -> Section:
    judged = comparison.unit is not None
    listed = comparison.findings
    if judged and not any(matters(change, comparison.floor_s) for change in listed):
        listed = ()
    rows = []
    for change in listed:
        cells = (change.name, _time(change.before, "not found"), _time(change.after, "not found"))
        if not judged:
            rows.append(Row(cells))
        elif not matters(change, comparison.floor_s):
            rows.append(Row((*cells, change.state)))
        else:
            state = _CAME_OR_WENT.get(change.state) or signed(change.change_s)
            rows.append(Row((*cells, state), _direction(change)))
    below = (_OVERLAP,) if rows else ()
    return Section(title, ("cause", "A", "B", "change") if judged else ("cause", "A", "B"), tuple(rows), below)


def _time_row(name: str, change: Change, judged: bool) -> Row:
    cells = (name, _time(change.before, "unknown"), _time(change.after, "unknown"))
    if not judged:
        return Row(cells)
    return Row((*cells, SAME if change.state == SAME else signed(change.change_s)), _direction(change))


def _direction(change: Change) -> str:
    if change.state == SAME or not change.change_s:
        return ""
    return MORE if change.change_s > 0 else LESS


def _seconds(amount: Amount | None) -> float:
    """Per unit where there is one."""
    if amount is None:
        return 0.0
    return amount.seconds if amount.seconds_per_unit is None else amount.seconds_per_unit


def _time(amount: Amount | None, absent: str = _NONE) -> str:
    return absent if amount is None else duration_text(_seconds(amount))


def _calls(amount: Amount | None) -> str:
    if amount is None or amount.calls is None:
        return _NONE
    return _count(amount.calls if amount.calls_per_unit is None else amount.calls_per_unit)


def _count(value: float) -> str:
    if value >= 100 or (value >= 1 and abs(value - round(value)) < 0.005):
        return count_text(round(value))
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"
