"""What was copied, how fast, and was it hidden? Copies by kind and by kind of host memory."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diagtool.analyses.time_accounting import Account, account
from diagtool.context import Context, DeviceWindow
from diagtool.device_work import BUS_COPIES, COPY_KINDS
from diagtool.diagnosis import Column, Evidence, Finding, Fix, Metric, Result, Scalar, Table, finding, metric
from diagtool.timeline import Timeline
from diagtool.units import fraction, seconds

_PIN = Fix("Copy from pinned memory, asynchronously.", "tensor.pin_memory().to(device, non_blocking=True)")
_OVERLAP = Fix("Keep the data on the device, or copy the next piece on a second stream while kernels run.")
_MEMORIES = ("pageable", "pinned")


def run(timeline: Timeline, context: Context) -> Result:
    """Rate of each kind of copy per device, a table over all devices, and a finding for exposed bus copies."""
    memory = _memory(timeline)
    found = _exposed(timeline, context, memory)
    return Result(
        "copies",
        metrics=tuple(m for one in context.windows for m in _metrics(timeline, context, one)),
        findings=(found,) if found else (),
        tables=tuple(table for table in (_table(timeline, context, memory),) if table.rows),
    )


def _memory(timeline: Timeline) -> NDArray[np.object_]:
    """Kind of host memory of each row of ``device``, empty where the name does not say."""
    names = [str(name).lower() for name in timeline.device["name"].cat.categories]
    kinds = [next((kind for kind in _MEMORIES if kind in name), "") for name in names]
    return np.array(kinds or [""], object)[timeline.device["name"].cat.codes.to_numpy()]


def _metrics(timeline: Timeline, context: Context, window: DeviceWindow) -> list[Metric]:
    found = []
    for kind in BUS_COPIES:
        rows = window.rows[context.work[window.rows] == kind]
        total, ns = _total(_bytes(timeline, rows)), _length_ns(timeline, rows)
        rate = total / seconds(ns) if total is not None and ns else None
        reason = "not-applicable: no such copy" if not len(rows) else "missing: a copy does not state its size or time"
        found.append(
            metric("copy.rate", rate, {**window.labels, "kind": kind}, reason="" if rate is not None else reason)
        )
    return found


def _bytes(timeline: Timeline, rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Bytes of each of some copies; None where one does not state its own."""
    size = timeline.device["bytes"].array[rows]
    return None if size.isna().any() else size.to_numpy(np.int64)


def _total(sizes: NDArray[np.int64] | None) -> int | None:
    return None if sizes is None else int(sizes.sum())


def _length_ns(timeline: Timeline, rows: NDArray[np.int64]) -> int:
    return int((timeline.device["end_ns"].to_numpy()[rows] - timeline.device["start_ns"].to_numpy()[rows]).sum())


def _table(timeline: Timeline, context: Context, memory: NDArray[np.object_]) -> Table:
    every = np.concatenate([one.rows for one in context.windows]) if context.windows else np.empty(0, np.int64)
    rows: list[tuple[Scalar, ...]] = []
    for kind in COPY_KINDS:
        for host in ("", *_MEMORIES):
            here = every[(context.work[every] == kind) & (memory[every] == host)]
            if not len(here):
                continue
            sizes, ns = _bytes(timeline, here), _length_ns(timeline, here)
            total, largest = _total(sizes), None if sizes is None else int(sizes.max())
            rate = total / seconds(ns) if total is not None and ns else None
            rows.append((kind, host or None, len(here), seconds(ns), total, largest, rate))
    columns = (
        Column("copy"), Column("host memory"), Column("count", "count"), Column("time", "s"), Column("bytes", "bytes"),
        Column("largest", "bytes"), Column("rate", "bytes/s"),
    )  # fmt: skip
    return Table("copies", "Copies and sets", columns, tuple(sorted(rows, key=lambda row: -float(row[3] or 0))))


def _exposed(timeline: Timeline, context: Context, memory: NDArray[np.object_]) -> Finding | None:
    accounts = [account(timeline, context, window) for window in context.windows]
    worst = max(accounts, key=_exposed_share)
    whole = sum(item.window.length_ns for item in accounts)
    of = "the window" if len(accounts) == 1 else "all windows"
    evidence: list[Evidence] = []
    every, pageable = np.concatenate([one.rows for one in context.windows]), False
    for kind in BUS_COPIES:
        alone = sum(item.copies[kind] for item in accounts)
        if alone:
            evidence.append(Evidence(f"{kind} copies alone on the device", fraction(alone, whole), "fraction", of))
            rows = every[context.work[every] == kind]
            evidence += _transfers(timeline, context, memory, kind, rows)
            pageable = pageable or bool((memory[rows] == "pageable").any())
    return finding(
        "exposed-copy",
        "Copies over a bus run while no kernel does.",
        lost_s=seconds(worst.bus_ns),
        lost_fraction=_exposed_share(worst),
        evidence=evidence,
        fix=(_OVERLAP, *([_PIN] if pageable else [])),
        where=worst.window.place,
    )


def _exposed_share(item: Account) -> float:
    return fraction(item.bus_ns, item.window.judged_ns) or 0.0


def _host_link(timeline: Timeline, context: Context) -> float | None:
    """Bytes/s that the link to the host carries each way, where all devices have the same by their datasheets."""
    known = {peaks.link_bandwidth if peaks else None for peaks in map(context.peaks_of, timeline.devices)}
    return known.pop() if len(known) == 1 else None


def _transfers(
    timeline: Timeline, context: Context, memory: NDArray[np.object_], kind: str, rows: NDArray[np.int64]
) -> Sequence[Evidence]:
    """Size, rate and kind of host memory of some copies, all of one kind."""
    total, ns = _total(_bytes(timeline, rows)), _length_ns(timeline, rows)
    found = []
    if total is not None and ns:
        found.append(Evidence(f"{kind} copied", total, "bytes"))
        rate = total / seconds(ns)
        found.append(Evidence(f"{kind} rate while copying", rate, "bytes/s"))
        link = _host_link(timeline, context) if kind in ("h2d", "d2h") else None
        if link is not None and rate < link:
            found.append(
                Evidence(f"{kind} rate", rate / link, "fraction", "what the link to the host carries each way")
            )
    if (memory[rows] != "").any():
        pageable = int(np.count_nonzero(memory[rows] == "pageable"))
        found.append(Evidence(f"of {len(rows)} {kind} copies touch pageable memory", pageable, "count"))
    return found
