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
    call_starts = host["start_ns"].to_numpy()[calls]
    order = np.lexsort((call_starts, call_keys))
    keys, starts = call_keys[order], call_starts[order]
    first = np.searchsorted(keys, work_keys, side="left")
    last = np.searchsorted(keys, work_keys, side="right")
    matched = first < last
    chosen = np.minimum(first, len(keys) - 1)
    several = np.flatnonzero(last - first > 1)
    if len(several):
        processes = host["process"].to_numpy()[calls][order]
        work_process = device["process"].to_numpy()[wanted]
        work_start = device["start_ns"].to_numpy()[wanted]
        for row in several:
            span = np.arange(first[row], last[row])
            if work_process[row] >= 0:
                span = span[processes[span] == work_process[row]]
            if not len(span) or len(set(processes[span].tolist())) > 1:
                matched[row] = False
                continue
            before = span[starts[span] <= work_start[row]]
            chosen[row] = before[-1] if len(before) else span[0]
    # What begins after the work has ended did not launch it, whatever its number.
    matched &= starts[chosen] <= device["end_ns"].to_numpy()[wanted]
    found[wanted[matched]] = calls[order[chosen[matched]]]
    return found


def is_graph_launch(timeline: Timeline, launches: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each row of ``device`` whether a graph launch brought it there."""
    graph = timeline.device["graph"].to_numpy() >= 0
    names = timeline.host["name"].cat.categories
    graphs = names.str.contains("GraphLaunch", regex=False) if len(names) else np.zeros(0, np.bool_)
    codes = timeline.host["name"].cat.codes.to_numpy()
    known = launches != NO_LAUNCH
    graph[known] |= np.asarray(graphs, np.bool_)[codes[launches[known]]]
    return graph


def _keys(calls: pd.DataFrame, work: pd.DataFrame) -> tuple[NDArray[Any], NDArray[Any]]:
    """One number for (rank, correlation) on both sides."""
    _, inverse = np.unique(np.concatenate((calls["rank"].to_numpy(), work["rank"].to_numpy())), return_inverse=True)
    ids, dense = np.unique(
        np.concatenate((calls["correlation"].to_numpy(), work["correlation"].to_numpy())), return_inverse=True
    )
    keys = inverse.astype(np.int64) * len(ids) + dense
    return keys[: len(calls)], keys[len(calls) :]
