"""The figures that every report for people shows, taken out of a diagnosis once: values as text, shares by device."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from diagtool.diagnosis import Diagnosis, Metric, Scalar, Table
from diagtool.metrics import IDLE_CLASSES
from diagtool.units import bytes_text, count_text, duration_text, percent_text, printable

# The figures of launch_gaps, by the name of the metric.
LAUNCHES = {
    "launch.gap_p50_s": "launch gap, median",
    "launch.gap_p95_s": "launch gap, p95",
    "launch.gap_max_s": "launch gap, largest",
    "launch.interval_p50_s": "launch interval, median",
    "launch.delay_p50_s": "launch to start, median",
}

_ACCOUNTING = ("rank", "device", "class", "time", "share")


@dataclass(frozen=True, slots=True)
class Account:
    """Where the window of one device went: (class, seconds, share) of each class, and the idle share by cause."""

    rank: Scalar
    device: Scalar
    classes: tuple[tuple[str, float, float], ...]
    idle: Mapping[str, float]

    @property
    def window_s(self) -> float:
        """Length of the window."""
        return sum(seconds for _, seconds, _ in self.classes)

    def share(self, name: str) -> float:
        """Share of one of TIME_CLASSES; all kinds of copies are ``copy``."""
        return sum(share for one, _, share in self.classes if one == name or one.startswith(f"{name} "))


def accounts(diagnosis: Diagnosis) -> tuple[Account, ...]:
    """The accounting of each device; empty where the diagnosis has none."""
    table = diagnosis.table("accounting")
    if table is None or tuple(column.name for column in table.columns) != _ACCOUNTING:
        return ()
    rows: dict[tuple[Scalar, Scalar], list[tuple[str, float, float]]] = {}
    for rank, device, name, seconds, share in table.rows:
        rows.setdefault((rank, device), []).append((str(name), _number(seconds), _number(share)))
    idle = _idle_by_place(diagnosis)
    return tuple(
        Account(rank, device, tuple(classes), idle.get((str(rank), str(device)), {}))
        for (rank, device), classes in rows.items()
    )


def value_text(value: object, unit: str) -> str:
    """A cell, a metric or a piece of evidence as text."""
    if value is None:
        return "unknown"
    if isinstance(value, str) or not unit:
        return printable(str(value))
    number = float(str(value))
    if unit == "s":
        return duration_text(number)
    if unit == "fraction":
        return percent_text(number)
    if unit == "bytes":
        return bytes_text(number)
    if unit == "bytes/s":  # rates count in powers of ten, as datasheets do
        return _scaled(number) + "B/s"
    if unit in ("flops", "flops/s"):
        return _scaled(number) + unit
    whole = number.is_integer() or 1000 <= abs(number) < float("inf")
    return count_text(round(number)) if whole else f"{number:.4g}"


def _scaled(value: float) -> str:
    """A large number and its decimal prefix: ``278.3 T``."""
    size, prefixes = value, " kMGTPE"
    while abs(size) >= 1000 and len(prefixes) > 1:
        size, prefixes = size / 1000, prefixes[1:]
    return f"{size:.4g} {prefixes[0].strip()}"


def is_text(table: Table) -> list[bool]:
    """Which columns of a table hold words; all others are numbers."""
    return [
        column.unit == "" and any(isinstance(row[i], str) for row in table.rows)
        for i, column in enumerate(table.columns)
    ]


def known_part(table: Table) -> tuple[Table, list[str]]:
    """The table without the columns of which no row knows anything, and their names."""
    known = [i for i in range(len(table.columns)) if any(row[i] is not None for row in table.rows)]
    unknown = [column.name for i, column in enumerate(table.columns) if i not in known]
    if not unknown or not known:
        return table, []
    columns = tuple(table.columns[i] for i in known)
    return replace(table, columns=columns, rows=tuple(tuple(row[i] for i in known) for row in table.rows)), unknown


def place_text(labels: Mapping[str, object]) -> str:
    """Labels of a metric or the place of a finding as words: ``rank 1, device 0``."""
    first = [key for key in ("rank", "device") if key in labels]
    rest = [key for key in labels if key not in first]
    return ", ".join(f"{key.replace('_', ' ')} {labels[key]}" for key in (*first, *rest))


def by_name(metrics: Sequence[Metric]) -> dict[str, list[Metric]]:
    """Metrics by name, in the order in which the names come."""
    grouped: dict[str, list[Metric]] = {}
    for one in metrics:
        grouped.setdefault(one.name, []).append(one)
    return grouped


def _idle_by_place(diagnosis: Diagnosis) -> dict[tuple[str, str], dict[str, float]]:
    """The idle shares by cause of each (rank, device)."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for cause in IDLE_CLASSES:
        for one in diagnosis.metrics(f"idle.{cause}_fraction"):
            if one.value:
                found.setdefault((one.labels.get("rank", ""), one.labels.get("device", "")), {})[cause] = one.value
    return found


def _number(value: Scalar) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0
