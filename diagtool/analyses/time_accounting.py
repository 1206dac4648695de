"""Where did the time of each device go? Every nanosecond of its window belongs to exactly one class.

compute (a kernel that is no collective runs) > communication (only collectives run) > copy (only copies and sets run)
> idle. Copies are given to the bus kinds first, then to device-to-device copies and sets. Sums are of integers, so the
shares add up to 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diagtool.context import Context, DeviceWindow
from diagtool.device_work import BUS_COPIES, COPY_KINDS
from diagtool.diagnosis import Column, Evidence, Finding, Fix, Metric, Result, Scalar, Table, finding, metric
from diagtool.timeline import Timeline
from diagtool.units import fraction, seconds

_ALL_RANKS = Fix("When one rank arrives late the others wait inside the collective: diagnose all ranks together.")
_PIN = Fix("Copy from pinned memory, asynchronously.", "tensor.pin_memory().to(device, non_blocking=True)")


@dataclass(frozen=True, slots=True)
class Account:
    """Nanoseconds of one device's window by class; ``copies`` splits ``copy_ns`` by kind."""

    window: DeviceWindow
    compute_ns: int
    communication_ns: int
    copies: Mapping[str, int]
    kernel_ns: int
    busy_ns: int

    @property
    def copy_ns(self) -> int:
        """Time in which only copies and sets run."""
        return sum(self.copies.values())

    @property
    def bus_ns(self) -> int:
        """Time in which only copies and sets run, and one of them crosses a bus."""
        return sum(self.copies[kind] for kind in BUS_COPIES)

    @property
    def idle_ns(self) -> int:
        """Time in which nothing runs."""
        return self.window.length_ns - self.busy_ns


def account(timeline: Timeline, context: Context, window: DeviceWindow) -> Account:
    """The accounting of one device."""
    compute = context.spans(timeline, window, "compute").total_ns
    kernels = context.spans(timeline, window, "compute", "communication").total_ns
    covered, copies = kernels, {}
    for count, kind in enumerate(COPY_KINDS, 1):
        reached = context.spans(timeline, window, "compute", "communication", *COPY_KINDS[:count]).total_ns
        copies[kind], covered = reached - covered, reached
    return Account(window, compute, kernels - compute, copies, kernels, covered)


def run(timeline: Timeline, context: Context) -> Result:
    """Metrics and a table of the accounting, and a finding for exposed communication and exposed bus copies."""
    accounts = [account(timeline, context, window) for window in context.windows]
    return Result(
        "time_accounting",
        metrics=tuple(m for item in accounts for m in _metrics(item)),
        findings=tuple(f for f in (_communication(accounts), _copies(timeline, context, accounts)) if f),
        tables=(_table(accounts),),
    )


def _metrics(item: Account) -> list[Metric]:
    whole, labels = item.window.length_ns, item.window.labels
    shares = {
        "device.busy_fraction": item.busy_ns,
        "kernel.idle_fraction": whole - item.kernel_ns,
        "time.compute_fraction": item.compute_ns,
        "time.communication_fraction": item.communication_ns,
        "time.copy_fraction": item.copy_ns,
        "copy.exposed_fraction": item.bus_ns,
        "time.idle_fraction": item.idle_ns,
    }
    reason = "" if whole else "undefined: the window has no length"
    return [
        metric("window.length_s", seconds(whole), labels),
        *(metric(name, fraction(ns, whole), labels, reason=reason) for name, ns in shares.items()),
    ]


def _table(accounts: Sequence[Account]) -> Table:
    rows: list[tuple[Scalar, ...]] = []
    for item in accounts:
        whole = item.window.length_ns
        parts = [("compute", item.compute_ns), ("communication", item.communication_ns)]
        parts += [(f"copy {kind}", ns) for kind, ns in item.copies.items()] + [("idle", item.idle_ns)]
        rows += [
            (item.window.rank, item.window.device, name, seconds(ns), fraction(ns, whole))
            for name, ns in parts
            if ns or not name.startswith("copy")
        ]
    columns = (
        Column("rank"),
        Column("device"),
        Column("class"),
        Column("time", "s"),
        Column("share", "fraction"),
    )
    return Table("accounting", "Where the time went", columns, tuple(rows))


def _communication(accounts: Sequence[Account]) -> Finding | None:
    worst = max(accounts, key=lambda item: _judged_share(item, item.communication_ns))
    lost = sum(item.communication_ns for item in accounts)
    return finding(
        "exposed-communication",
        "Collectives run while nothing else does: they are not hidden behind compute.",
        lost_s=seconds(worst.communication_ns),
        lost_fraction=_judged_share(worst, worst.communication_ns),
        evidence=(Evidence("collectives alone on the device", _share(accounts, lost), "fraction", _whole(accounts)),),
        fix=(
            Fix("Overlap collectives with independent compute: a second stream, bucketed or chunked reduction."),
            *([_ALL_RANKS] if len(accounts) == 1 else []),
        ),
        where=worst.window.place,
    )


def _copies(timeline: Timeline, context: Context, accounts: Sequence[Account]) -> Finding | None:
    worst = max(accounts, key=lambda item: _judged_share(item, item.bus_ns))
    shares = {kind: _share(accounts, sum(item.copies[kind] for item in accounts)) for kind in BUS_COPIES}
    pageable = _pageable(timeline, np.flatnonzero(np.isin(context.work, BUS_COPIES)))
    return finding(
        "exposed-copy",
        "Copies over a bus run while no kernel does.",
        lost_s=seconds(worst.bus_ns),
        lost_fraction=_judged_share(worst, worst.bus_ns),
        evidence=tuple(
            item
            for kind, share in shares.items()
            if share
            for item in (
                Evidence(f"{kind} copies alone on the device", share, "fraction", _whole(accounts)),
                *_transfers(timeline, context, kind),
            )
        ),
        fix=(
            Fix("Keep the data on the device, or copy the next piece on a second stream while kernels run."),
            *([_PIN] if pageable else []),
        ),
        where=worst.window.place,
    )


def _transfers(timeline: Timeline, context: Context, kind: str) -> Iterator[Evidence]:
    """Size, rate and kind of host memory of all copies of one kind."""
    rows = np.flatnonzero(context.work == kind)
    size = timeline.device["bytes"].take(rows)
    length = timeline.device["end_ns"].to_numpy()[rows] - timeline.device["start_ns"].to_numpy()[rows]
    if size.notna().all() and length.sum():
        total = int(size.sum())
        yield Evidence(f"{kind} copied", total, "bytes")
        yield Evidence(f"{kind} rate while copying", total / seconds(int(length.sum())), "bytes/s")
    pageable = _pageable(timeline, rows)
    if pageable is not None:
        yield Evidence(f"of {len(rows)} {kind} copies touch pageable memory", pageable, "count")


def _pageable(timeline: Timeline, rows: NDArray[np.int64]) -> int | None:
    """How many copies touch pageable memory; None where the profiler does not say."""
    names = timeline.device["name"].take(rows).astype(str)
    if not names.str.contains("Pageable|Pinned").any():
        return None
    return int(names.str.contains("Pageable").sum())


def _judged_share(item: Account, lost_ns: int) -> float:
    return fraction(lost_ns, item.window.judged_ns) or 0.0


def _share(accounts: Sequence[Account], ns: int) -> float | None:
    return fraction(ns, sum(item.window.length_ns for item in accounts))


def _whole(accounts: Sequence[Account]) -> str:
    return "the window" if len(accounts) == 1 else "all windows"
