"""Where did the time of each device go? Every nanosecond of its window belongs to exactly one class.

compute (a kernel that is no collective runs) > communication (only collectives run) > copy (only copies and sets run)
> idle. Copies are given to the bus kinds first, then to device-to-device copies and sets. Sums are of integers, so the
shares add up to 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diagtool.context import Context, DeviceWindow
from diagtool.device_work import BUS_COPIES, COPY_KINDS
from diagtool.diagnosis import Column, Metric, Result, Scalar, Table, metric
from diagtool.timeline import Timeline
from diagtool.units import fraction, seconds


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
    """Metrics and a table of the accounting."""
    accounts = [account(timeline, context, window) for window in context.windows]
    return Result(
        "time_accounting",
        metrics=tuple(m for item in accounts for m in _metrics(item)),
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
