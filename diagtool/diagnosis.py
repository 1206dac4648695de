"""Diagnosis and what it is made of: the public JSON (``schema: 1``), stdlib only so that it loads at once.

Values are in base units (seconds, bytes, fractions); ``units.py`` alone turns them into text. An unknown value is
None with a reason, never 0.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from diagtool.causes import CAUSE_NAMES, SEVERITIES, WARNING_FLOOR, severity
from diagtool.metrics import METRICS

SCHEMA = 1
# A device that is idle half of the time is not called healthy, however small each of the reasons is.
LEAST_BUSY = 0.5
# The table of kernels ends here; what it does not name took less time than the last it does.
MOST_KERNELS = 500
# No figure is larger: FLOP/s of the largest device are 1e16.
_LARGEST = 1e18

Scalar = str | int | float | None


@dataclass(frozen=True, slots=True)
class Loss:
    """Something of the input that did not reach the timeline: ``count`` of ``what``, with one example.

    ``unit`` is ``event``, or ``file`` where it is not known how many events went with it.
    """

    what: str
    count: int
    detail: str = ""
    unit: str = "event"


@dataclass(frozen=True, slots=True)
class Source:
    """Where the data came from. ``lost`` is what could not be read of it, ``notes`` what was done to read the rest."""

    format: str
    tool: str = ""
    version: str = ""
    files: tuple[str, ...] = ()
    lost: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Device:
    """A device of the capture; None where the source does not say.

    ``compute_capability`` is ``9.0``; AMD's numbers look the same and mean something else: its ``warp_size`` is 64.
    """

    rank: int
    index: int
    name: str = ""
    sms: int | None = None
    memory_bytes: int | None = None
    compute_capability: str | None = None
    warp_size: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The span that shares refer to, averaged over devices.

    ``outside_s`` is the step time it does not cover; of that ``judged_outside_s`` is known to have been recorded and
    counts as lost time too.
    """

    kind: str
    seconds: float
    outside_s: float = 0.0
    judged_outside_s: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """What sets the pace, with its share of the window; ``reason`` says why it is not known more closely."""

    resource: str
    share: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BoundBy:
    """The first and the second resource that set the pace."""

    resource: str
    share: float | None
    reason: str
    next: Bound | None


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure. Made by ``metric()``, which takes unit, direction and definition from the registry."""

    name: str
    labels: Mapping[str, str]
    value: float | None
    unit: str
    better: str | None
    method: str
    reason: str
    samples: tuple[float, ...]
    definition: str


def metric(
    name: str,
    value: float | None,
    labels: Mapping[str, str] | None = None,
    *,
    method: str = "measured",
    reason: str = "",
    samples: Sequence[float] = (),
) -> Metric:
    """A metric of the registry. ValueError when the value is not finite, or missing without a reason."""
    spec = METRICS[name]
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{name} is {value}: an unknown value is None with a reason")
    if value is None and not reason:
        raise ValueError(f"{name} has neither a value nor a reason")
    given = dict(labels or {})
    return Metric(name, given, value, spec.unit, spec.better, method, reason, tuple(samples), spec.definition)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observation behind a finding. ``of`` names what a share is a share of."""

    what: str
    value: Scalar
    unit: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True)
class Fix:
    """One thing to change; ``command`` is the flag or line to type where there is one."""

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause, what it costs and what to do. Made by ``finding()``, which judges the severity."""

    cause: str
    severity: str
    title: str
    evidence: tuple[Evidence, ...]
    fix: tuple[Fix, ...]
    lost_s: float
    lost_fraction: float
    confidence: str
    where: Mapping[str, Scalar] = field(default_factory=dict)


def finding(
    cause: str,
    title: str,
    *,
    lost_s: float,
    lost_fraction: float,
    evidence: Sequence[Evidence],
    fix: Sequence[Fix] = (),
    confidence: str = "high",
    where: Mapping[str, Scalar] | None = None,
    severity_at_least: str | None = None,
) -> Finding | None:
    """A finding of the closed list of causes, or None when the loss is below the floor.

    ``severity_at_least`` is for what must be said whatever it costs, such as a trace that contradicts itself.
    """
    if cause not in CAUSE_NAMES:
        raise ValueError(f"{cause} is not in the list of causes")
    judged = severity(lost_fraction) or severity_at_least
    if judged is None:
        return None
    return Finding(
        cause,
        judged,
        title,
        tuple(evidence),
        tuple(fix),
        lost_s,
        lost_fraction,
        confidence,
        dict(where or {}),
    )


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: ``unit`` as in the metric registry, or empty for text."""

    name: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of plain values, ready to print; at most some hundreds."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Scalar, ...], ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What one analysis answered. ``skipped`` says why it could not; then nothing else is set."""

    analysis: str
    metrics: tuple[Metric, ...] = ()
    findings: tuple[Finding, ...] = ()
    tables: tuple[Table, ...] = ()
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything the tool has to say about one input. ``findings`` are those of all results, costliest first."""

    source: Source
    devices: tuple[Device, ...]
    environment: Mapping[str, Scalar]
    workload: Mapping[str, Scalar]
    window: Window | None
    bound_by: BoundBy
    findings: tuple[Finding, ...]
    results: tuple[Result, ...]
    schema: int = SCHEMA

    @property
    def healthy(self) -> bool:
        """The device is busy most of the time, nothing costs 5 % or more, and no such share is idle without a cause."""
        if self.window is None or not self.window.seconds or any(f.severity != "info" for f in self.findings):
            return False
        if self.mean("device.busy_fraction") < LEAST_BUSY:
            return False
        unexplained = (metric.value or 0.0 for metric in self.metrics("idle.unknown_fraction"))
        return max(unexplained, default=0.0) < WARNING_FLOOR

    @property
    def doubted(self) -> bool:
        """Something was found that makes the figures themselves doubtful."""
        return any(finding.cause == "trace-integrity" for finding in self.findings)

    def mean(self, name: str) -> float:
        """Mean of a metric over devices, weighted by their windows; 0 where none has it."""
        lengths = {tuple(sorted(m.labels.items())): m.value or 0.0 for m in self.metrics("window.length_s")}
        weighed = [
            (m.value, lengths.get(tuple(sorted(m.labels.items())), 0.0))
            for m in self.metrics(name)
            if m.value is not None
        ]
        total = sum(weight for _, weight in weighed)
        return sum(value * weight for value, weight in weighed) / total if total else 0.0

    def result(self, analysis: str) -> Result | None:
        """What one analysis answered; None when it is not part of this diagnosis."""
        return next((r for r in self.results if r.analysis == analysis), None)

    def metrics(self, name: str) -> tuple[Metric, ...]:
        """All metrics of a name, one per combination of labels."""
        return tuple(m for result in self.results for m in result.metrics if m.name == name)

    def metric(self, name: str, **labels: str) -> Metric:
        """The one metric with this name and these labels. KeyError when there is none, or more than one."""
        found = [m for m in self.metrics(name) if all(m.labels.get(k) == v for k, v in labels.items())]
        if len(found) != 1:
            raise KeyError(f"{len(found)} metrics {name} with {labels}")
        return found[0]

    def table(self, name: str) -> Table | None:
        """The table of a name, whichever analysis made it."""
        return next((t for result in self.results for t in result.tables if t.name == name), None)


def to_dict(diagnosis: Diagnosis) -> dict[str, Any]:
    """The public JSON as plain data, ``schema`` first; the order of keys is stable."""
    data = asdict(diagnosis)
    return {"schema": data.pop("schema"), **data}


def to_json(diagnosis: Diagnosis, *, ascii_only: bool = False) -> str:
    """The public JSON as text, valid against diagnosis.schema.json: no NaN, no Infinity."""
    return json.dumps(to_dict(diagnosis), indent=1, ensure_ascii=ascii_only, allow_nan=False)


def from_dict(data: Mapping[str, Any]) -> Diagnosis:
    """Inverse of ``to_dict``. KeyError or TypeError when the data is not a diagnosis of this schema."""
    if data["schema"] != SCHEMA:
        raise TypeError(f"schema {data['schema']!r}: this version reads schema {SCHEMA}")
    source, window, bound = data["source"], data["window"], data["bound_by"]
    return Diagnosis(
        source=_source(source),
        devices=tuple(Device(**device) for device in data["devices"]),
        environment=data["environment"],
        workload=data["workload"],
        window=Window(**window) if window else None,
        bound_by=BoundBy(**{**bound, "next": Bound(**bound["next"]) if bound["next"] else None}),
        findings=tuple(_finding(item) for item in data["findings"]),
        results=tuple(_result(item) for item in data["results"]),
    )


def check(diagnosis: Diagnosis) -> None:
    """ValueError when a diagnosis read from a file could not have been written by this version."""
    for found in diagnosis.findings:
        sound = _plausible(found.lost_s, "s") and _plausible(found.lost_fraction, "fraction")
        if found.severity not in SEVERITIES or not found.evidence or not sound:
            raise ValueError(f"a finding of severity {found.severity!r}")
    window = diagnosis.window
    if diagnosis.schema != SCHEMA:
        raise ValueError(f"schema {diagnosis.schema!r}: this version reads schema {SCHEMA}")
    if window and not all(_plausible(s, "s") for s in (window.seconds, window.outside_s, window.judged_outside_s)):
        raise ValueError("a window of an impossible length")
    for bound in (diagnosis.bound_by, diagnosis.bound_by.next):
        if bound is not None and bound.share is not None and not 0 <= bound.share <= 1:
            raise ValueError(f"a share of {bound.share}")
    for result in diagnosis.results:
        for one in result.metrics:
            if one.name not in METRICS or not _plausible(one.value, one.unit):
                raise ValueError(f"metric {one.name!r}")
        for table in result.tables:
            for row in table.rows:
                if len(row) != len(table.columns):
                    raise ValueError(f"a row of table {table.name!r}")
                for column, cell in zip(table.columns, row, strict=True):
                    if column.unit and not _plausible(cell, column.unit):
                        raise ValueError(f"a cell of table {table.name!r}")


def _plausible(value: object, unit: str) -> bool:
    """Whether a number could be a figure: not below zero, not beyond anything countable, a share at most all."""
    if value is None:
        return True
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return 0 <= value <= (1 + 1e-9 if unit == "fraction" else _LARGEST)


def _source(data: Mapping[str, Any]) -> Source:
    lost = tuple(Loss(**item) for item in data["lost"])
    return Source(**{**data, "files": tuple(data["files"]), "lost": lost, "notes": tuple(data["notes"])})


def _finding(data: Mapping[str, Any]) -> Finding:
    evidence = tuple(Evidence(**item) for item in data["evidence"])
    return Finding(**{**data, "evidence": evidence, "fix": tuple(Fix(**item) for item in data["fix"])})


def _result(data: Mapping[str, Any]) -> Result:
    tables = (
        Table(
            item["name"],
            item["title"],
            tuple(Column(**column) for column in item["columns"]),
            tuple(tuple(row) for row in item["rows"]),
        )
        for item in data["tables"]
    )
    return Result(
        data["analysis"],
        tuple(Metric(**{**item, "samples": tuple(item["samples"])}) for item in data["metrics"]),
        tuple(_finding(item) for item in data["findings"]),
        tuple(tables),
        data["skipped"],
    )
