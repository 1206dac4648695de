"""How much of everything one diagnosis holds, by name and per device: what a comparison sets side by side."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from diagtool.diagnosis import MOST_KERNELS, Diagnosis, Scalar
from diagtool.kernel_classes import normalised_name
from diagtool.metrics import IDLE_CLASSES

OUTSIDE = "outside the device window"


@dataclass(frozen=True, slots=True)
class Amount:
    """Time and calls of something in one capture, per device; per unit too where the captures have one in common.

    ``calls`` is None where they are not counted.
    """

    seconds: float
    calls: float | None = None
    seconds_per_unit: float | None = None
    calls_per_unit: float | None = None


# By name, or by (name, class) for kernels.
Amounts = Mapping[tuple[str, str], Amount]


def rows_of(diagnosis: Diagnosis, table: str, *columns: str) -> list[tuple[Scalar, ...]]:
    """The named columns of a table, row by row; none where the diagnosis has no table with such columns."""
    found = diagnosis.table(table)
    names = [column.name for column in found.columns] if found else []
    if found is None or any(column not in names for column in columns):
        return []
    places = [names.index(column) for column in columns]
    return [tuple(row[place] for place in places) for row in found.rows]


def number(value: Scalar) -> float:
    """A cell that should hold a number; 0 where it does not."""
    return float(value) if isinstance(value, (int, float)) else 0.0


def device_count(diagnosis: Diagnosis) -> int:
    """How many devices did work."""
    return len(set(rows_of(diagnosis, "accounting", "rank", "device")))


def accounting(diagnosis: Diagnosis) -> Amounts:
    """Time by class, summing to the window and the judged step time outside it; idle time by cause.

    Nothing where no device did work.
    """
    devices = device_count(diagnosis)
    if not devices:
        return {}
    times = {"compute": 0.0, "communication": 0.0}
    lengths: dict[tuple[str, str], float] = {}
    for rank, device, name, time in rows_of(diagnosis, "accounting", "rank", "device", "class", "time"):
        times[str(name)] = times.get(str(name), 0.0) + number(time) / devices
        place = str(rank), str(device)
        lengths[place] = lengths.get(place, 0.0) + number(time)
    idle = times.pop("idle", 0.0)
    by_cause = {
        f"idle {cause}": _seconds(diagnosis, f"idle.{cause}_fraction", lengths) / devices for cause in IDLE_CLASSES
    }
    times |= {name: time for name, time in by_cause.items() if time}
    rest = idle - sum(by_cause.values())
    if rest > idle * 1e-6:
        times["idle"] = rest
    if diagnosis.window and diagnosis.window.judged_outside_s:
        times[OUTSIDE] = diagnosis.window.judged_outside_s
    return {(name, ""): Amount(time) for name, time in times.items()}


def _seconds(diagnosis: Diagnosis, name: str, lengths: Mapping[tuple[str, str], float]) -> float:
    """Seconds of a share of the window, over all devices."""
    return sum(
        (metric.value or 0.0) * lengths.get((metric.labels.get("rank", ""), metric.labels.get("device", "")), 0.0)
        for metric in diagnosis.metrics(name)
    )


def kernel_classes(diagnosis: Diagnosis) -> Amounts:
    """Summed kernel time and calls by class: kernels side by side count each."""
    rows = rows_of(diagnosis, "kernel_classes", "class", "calls", "time")
    return _summed(diagnosis, (((str(name), ""), calls, time) for name, calls, time in rows))


def kernels(before: Diagnosis, after: Diagnosis) -> tuple[Amounts, Amounts]:
    """Kernels of both by the name under which builds meet; what a full table may have left out of one is left out."""
    first, second = (_kernels(one) for one in (before, after))
    unsure = [_least(one) for one in (before, after)]
    return (
        {key: amount for key, amount in first.items() if key in second or amount.seconds > unsure[1]},
        {key: amount for key, amount in second.items() if key in first or amount.seconds > unsure[0]},
    )


def _kernels(diagnosis: Diagnosis) -> Amounts:
    rows = rows_of(diagnosis, "kernels", "kernel", "class", "calls", "time")
    return _summed(
        diagnosis, (((normalised_name(str(name)), str(kind)), calls, time) for name, kind, calls, time in rows)
    )


def _least(diagnosis: Diagnosis) -> float:
    """Seconds per device below which a kernel may be missing from the table."""
    rows = rows_of(diagnosis, "kernels", "time")
    return number(rows[-1][0]) / max(device_count(diagnosis), 1) if len(rows) >= MOST_KERNELS else 0.0


def _summed(diagnosis: Diagnosis, rows: Iterable[tuple[tuple[str, str], Scalar, Scalar]]) -> Amounts:
    devices = max(device_count(diagnosis), 1)
    found: dict[tuple[str, str], Amount] = {}
    for key, calls, time in rows:
        known = found.get(key, Amount(0.0, 0.0))
        found[key] = Amount(known.seconds + number(time) / devices, (known.calls or 0.0) + number(calls) / devices)
    return found


def findings(diagnosis: Diagnosis) -> Amounts:
    """The costliest finding of each cause: what it loses on its device."""
    found: dict[tuple[str, str], Amount] = {}
    for one in diagnosis.findings:
        known = found.get((one.cause, ""), Amount(0.0))
        if one.lost_s > known.seconds:
            found[one.cause, ""] = Amount(one.lost_s)
    return found
