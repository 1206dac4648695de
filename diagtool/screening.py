"""Events that cannot be true, found before anything is counted.

Profilers write durations of hours, ends past the end of the recording and stamps from another day. Such an event is
named and left out; one that is only unlikely is named and kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagtool.grouping import distinct, groups
from diagtool.kernel_classes import collective_family
from diagtool.timeline import Timeline

# A long event is held against others only where there are enough of them to say what is usual.
MIN_EVENTS = 20
OVERRUN_OF_MEDIAN = 10
DOMINANT_SHARE = 0.5
_FEW = 0.05
_STRAY_OF_SPAN = 1000
_OUTLASTS = "outlasts everything else recorded"
_STRAY_NS = 60 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class Suspect:
    """A device event that is impossible or dominant (over half the window), or a host call that is impossible.

    ``device`` is -1 for a host call.
    """

    name: str
    rank: int
    device: int
    start_ns: int
    duration_ns: int
    reason: str
    excluded: bool


def screen(timeline: Timeline) -> tuple[Timeline, tuple[Suspect, ...]]:
    """The timeline without the events that cannot be true, and every suspect with the reason."""
    device = timeline.device
    excluded = np.zeros(len(device), np.bool_)
    suspects: list[Suspect] = []
    for rank, index, rows in by_device(timeline):
        for position, reason, out in _judge(device.take(rows), timeline, rank):
            row = int(rows[position])
            excluded[row] |= out
            suspects.append(_suspect(device, row, index, reason, out))
    if excluded.any():
        timeline = timeline.keep("device", ~excluded)
    for table in ("host", "steps"):
        beyond = _outlasting_calls(getattr(timeline, table), timeline)
        if table == "host":
            suspects += [_suspect(timeline.host, row, -1, _OUTLASTS) for row in np.flatnonzero(beyond).tolist()]
        if beyond.any():
            timeline = timeline.keep(table, ~beyond)
    return timeline, tuple(suspects)


def _outlasting_calls(calls: pd.DataFrame, timeline: Timeline) -> NDArray[np.bool_]:
    """Host calls and marks a minute long that last ten times longer than everything shorter of their rank together."""
    lengths = calls["end_ns"].to_numpy() - calls["start_ns"].to_numpy()
    found: NDArray[np.bool_] = lengths > _STRAY_NS
    if not found.any():
        return found
    ranks = calls["rank"].to_numpy()
    for rank in distinct(ranks[found]):
        spans = [
            frame[["start_ns", "end_ns"]].to_numpy()[frame["rank"].to_numpy() == rank]
            for frame in (timeline.host, timeline.device)
        ]
        starts, ends = np.concatenate(spans).T
        short = ends - starts <= _STRAY_NS
        span = int(ends[short].max() - starts[short].min()) if np.count_nonzero(short) >= MIN_EVENTS else None
        here = ranks == rank
        found[here] &= span is not None and lengths[here] > OVERRUN_OF_MEDIAN * (span or 0)
    return found


def by_device(timeline: Timeline) -> Iterator[tuple[int, int, NDArray[np.int64]]]:
    """(rank, device, rows of ``device`` in time order) of every device of every rank."""
    device = timeline.device
    for (rank, index), rows in groups(device["rank"].to_numpy(), device["device"].to_numpy()):
        yield rank, index, rows


def _suspect(frame: pd.DataFrame, row: int, device: int, reason: str, out: bool = True) -> Suspect:
    rank, start, end = (int(frame[name].to_numpy()[row]) for name in ("rank", "start_ns", "end_ns"))
    return Suspect(str(frame["name"].iat[row]), rank, device, start, end - start, reason, out)


def _judge(group: pd.DataFrame, timeline: Timeline, rank: int) -> list[tuple[int, str, bool]]:
    """(position in group, reason, whether it is left out) of each suspect of one device."""
    if len(group) < MIN_EVENTS:
        return []
    starts, ends = group["start_ns"].to_numpy(), group["end_ns"].to_numpy()
    host = timeline.host.loc[timeline.host["rank"] == rank]
    tests = (
        _stray(starts),
        _past_recording(starts, ends, timeline.recording_ns.get(rank)),
        _overruns(group, starts, ends),
        _past_everything(starts, ends, host),
    )
    found: dict[int, str] = {}
    for position, reason in (hit for test in tests for hit in test):
        found.setdefault(position, reason)
    left = np.ones(len(group), np.bool_)
    left[list(found)] = False
    span = int(ends[left].max() - starts[left].min()) if left.any() else 0
    lengths = ends - starts
    dominant = np.flatnonzero(left & (lengths > DOMINANT_SHARE * span)) if span else np.empty(0, np.int64)
    return [(position, reason, True) for position, reason in sorted(found.items())] + [
        (int(position), "is over half of the window", False) for position in dominant
    ]


def _stray(starts: NDArray[np.int64]) -> list[tuple[int, str]]:
    """Stamps of a few events that lie far from all others."""
    order = np.argsort(starts, kind="stable")
    gaps = np.diff(starts[order])
    if not len(gaps):
        return []
    cut = int(np.argmax(gaps)) + 1
    early, late = order[:cut], order[cut:]
    few, many = sorted((early, late), key=len)
    span = int(starts[many].max() - starts[many].min())
    if len(few) > _FEW * len(starts) or gaps[cut - 1] < max(_STRAY_OF_SPAN * span, _STRAY_NS):
        return []
    return [(int(position), "is stamped far from all other events") for position in few]


def _past_recording(
    starts: NDArray[np.int64], ends: NDArray[np.int64], recording: tuple[int, int] | None
) -> list[tuple[int, str]]:
    if recording is None:
        return []
    # The profiler waits for the device before it stops, so nothing real ends later; a tenth is left for its clock.
    begin, end = recording
    limit = end + max((end - begin) // 10, 1_000_000)
    if np.count_nonzero(ends > limit) > max(_FEW * len(ends), 1):
        return []  # with so many it is the recording's own span that is wrong
    return [(int(p), "ends after the recording ended") for p in np.flatnonzero(ends > limit)]


def _overruns(group: pd.DataFrame, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> list[tuple[int, str]]:
    """Ends past the next start on the stream by more than ten times what the kernel usually takes."""
    stream = group["stream"].to_numpy()
    order = np.lexsort((starts, stream))
    same = (stream[order][1:] == stream[order][:-1]) & (stream[order][1:] >= 0)
    over = np.where(same, ends[order][:-1] - starts[order][1:], 0)
    candidates = np.flatnonzero(over > 0)
    if not len(candidates):
        return []
    lengths = ends - starts
    # A collective may wait for a late rank as long as it likes, and does so on a stream number of its own or not.
    names = group["name"].cat.categories
    collective = np.array([collective_family(str(name)) is not None for name in names], np.bool_)
    codes = group["name"].cat.codes.to_numpy()
    usual = _usual_length(codes, lengths)
    position = order[candidates]
    far = over[candidates] > OVERRUN_OF_MEDIAN * np.maximum(usual[position], 1000)
    far &= ~collective[codes[position]]
    return [(int(p), "runs into the work after it on its stream") for p in position[far]]


def _usual_length(names: NDArray[Any], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each event the lower median length of its name, which keeps two of a name from vouching for each other.

    A name that occurs once is its own measure.
    """
    order = np.lexsort((lengths, names))
    kinds, first, count = np.unique(names[order], return_index=True, return_counts=True)
    medians: NDArray[np.int64] = lengths[order][first + (count - 1) // 2]
    return medians[np.searchsorted(kinds, names)]


def _past_everything(starts: NDArray[np.int64], ends: NDArray[np.int64], host: pd.DataFrame) -> list[tuple[int, str]]:
    """One event that outlasts all else by more than all else took, host calls included."""
    lengths = ends - starts
    long = lengths > DOMINANT_SHARE * int(ends.max() - starts.min())
    if not long.any() or long.all():
        return []
    first = min(int(starts[~long].min()), int(host["start_ns"].min()) if len(host) else int(starts.min()))
    last = max(int(ends[~long].max()), int(host["end_ns"].max()) if len(host) else 0)
    outlasting = np.flatnonzero(long & (ends - last > last - first))
    return [(int(position), _OUTLASTS) for position in outlasting]
