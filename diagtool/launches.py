"""Which host call launched which device event: by correlation id within one process, never by the name of the API."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagtool.timeline import Timeline

NO_LAUNCH = -1

_CALL_KINDS = ("launch", "copy", "sync", "other")


def match(timeline: Timeline) -> NDArray[np.int64]:
    """For each row of ``device`` the row of ``host`` that launched it, or NO_LAUNCH.

    Correlation ids repeat across processes and, where a profiler loses count, within one. Among calls of one process
    with the same id the latest that began before the work counts. When calls of several processes share the id and
    the device event does not name its process, nothing is guessed.
    """
    device, host = timeline.device, timeline.host
    found = np.full(len(device), NO_LAUNCH, np.int64)
    calls = np.flatnonzero(host["kind"].isin(_CALL_KINDS).to_numpy() & (host["correlation"].to_numpy() > 0))
    wanted = np.flatnonzero(device["correlation"].to_numpy() > 0)
    if not len(calls) or not len(wanted):
        return found
    call_keys, work_keys = _keys(host.iloc[calls], device.iloc[wanted])
    processes, starts = host["process"].to_numpy()[calls], host["start_ns"].to_numpy()[calls]
    order = np.lexsort((starts, processes, call_keys))
    calls, keys, processes, starts = calls[order], call_keys[order], processes[order], starts[order]
    low, high = np.searchsorted(keys, work_keys, side="left"), np.searchsorted(keys, work_keys, side="right")
    low, high = _of_process(processes, device["process"].to_numpy()[wanted], low, high)
    matched = low < high
    last = np.maximum(high - 1, 0)
    # Sorted by process within an id, so that one process holds all of them when it holds the first and the last.
    matched &= processes[np.minimum(low, len(calls) - 1)] == processes[last]
    latest = _latest_before(starts, device["start_ns"].to_numpy()[wanted], low, high)
    chosen = np.minimum(np.maximum(latest, low), len(calls) - 1)
    # What begins after the work has ended did not launch it, whatever its number.
    matched &= starts[chosen] <= device["end_ns"].to_numpy()[wanted]
    found[wanted[matched]] = calls[chosen[matched]]
    return found


def _of_process(
    processes: NDArray[np.int64], wanted: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ranges narrowed to the process that the work names, where it names one."""
    for row in np.flatnonzero((wanted >= 0) & (high - low > 1)).tolist():
        inside = processes[low[row] : high[row]]
        first = low[row]
        low[row] = first + np.searchsorted(inside, wanted[row], side="left")
        high[row] = first + np.searchsorted(inside, wanted[row], side="right")
    return low, high


def _latest_before(
    starts: NDArray[np.int64], at: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """In each range of ascending starts the last that is not after a time: bisection, all ranges at once."""
    low, high = low.copy(), high.copy()
    while (open_ := low < high).any():
        middle = (low + high) // 2
        before = open_ & (starts[np.minimum(middle, len(starts) - 1)] <= at)
        low = np.where(before, middle + 1, low)
        high = np.where(open_ & ~before, middle, high)
    return low - 1


def is_graph_launch(timeline: Timeline, launches: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each row of ``device`` whether a graph launch brought it there."""
    graph = timeline.device["graph"].to_numpy() >= 0
    known = launches != NO_LAUNCH
    graph[known] |= graph_calls(timeline)[launches[known]]
    return graph


def graph_calls(timeline: Timeline) -> NDArray[np.bool_]:
    """For each row of ``host`` whether it is a call that launches a graph."""
    names = timeline.host["name"].cat.categories
    graphs = np.array(["GraphLaunch" in str(name) for name in names] or [False], np.bool_)
    found: NDArray[np.bool_] = graphs[timeline.host["name"].cat.codes.to_numpy()]
    return found & np.asarray(timeline.host["kind"] == "launch", np.bool_)


def _keys(calls: pd.DataFrame, work: pd.DataFrame) -> tuple[NDArray[Any], NDArray[Any]]:
    """One number for (rank, correlation) on both sides."""
    _, inverse = np.unique(np.concatenate((calls["rank"].to_numpy(), work["rank"].to_numpy())), return_inverse=True)
    ids, dense = np.unique(
        np.concatenate((calls["correlation"].to_numpy(), work["correlation"].to_numpy())), return_inverse=True
    )
    keys = inverse.astype(np.int64) * len(ids) + dense
    return keys[: len(calls)], keys[len(calls) :]
