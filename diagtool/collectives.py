"""Collectives of several ranks matched with each other, and who waited for whom.

A rank that arrives early sits inside the collective until the last one comes, and all leave together. So the shortest
duration among the ranks is that of the transfer, the rest of each duration is waiting, and the rank with the shortest
was last. That needs no common clock.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from diagtool.context import Context
from diagtool.kernel_classes import collective_operation
from diagtool.timeline import Timeline

NO_GROUP = "all ranks"

_Members = Mapping[tuple[int, int], NDArray[np.int64]]


class Series(NamedTuple):
    """The collectives of one process group: a line per collective in order, a column per device that takes part.

    ``places`` are (rank, device). ``rows`` are rows of the table device, ``durations_ns`` those of the kernels.
    """

    group: str
    places: tuple[tuple[int, int], ...]
    operations: tuple[str, ...]
    rows: NDArray[np.int64]
    durations_ns: NDArray[np.int64]

    @property
    def waiting_ns(self) -> NDArray[np.int64]:
        """How long each waited in each collective for the last one to arrive."""
        waiting: NDArray[np.int64] = self.durations_ns - self.durations_ns.min(axis=1, keepdims=True)
        return waiting

    @property
    def last(self) -> NDArray[np.int64]:
        """Column of the one that arrived last at each collective; where several tie, the first of them."""
        columns: NDArray[np.int64] = np.argmin(self.durations_ns, axis=1)
        return columns


@dataclass(frozen=True, slots=True)
class Matched:
    """All groups whose ranks agree on what they did, and for each of the others why not."""

    series: tuple[Series, ...]
    unmatched: Mapping[str, str]

    @property
    def total_ns(self) -> int:
        """Time of all matched collectives, all ranks together."""
        return sum(int(one.durations_ns.sum()) for one in self.series)

    @property
    def waiting_ns(self) -> int:
        """The part of it in which a rank waited for another."""
        return sum(int(one.waiting_ns.sum()) for one in self.series)


def operations(timeline: Timeline) -> NDArray[np.object_]:
    """Operation of each row of ``device``: as the source states it, else by the kernel's name."""
    device = timeline.device
    by_name = np.array([collective_operation(str(name)) for name in device["name"].cat.categories] or [""], object)
    found = by_name[device["name"].cat.codes.to_numpy()]
    stated = device["collective"]
    words = np.array([_plain(str(word)) for word in stated.cat.categories] or [""], object)
    known = stated.notna().to_numpy()
    found[known] = words[stated.cat.codes.to_numpy()[known]]
    return found


def _plain(word: str) -> str:
    """``_allgather_base`` and ``allgather`` as ``all-gather``."""
    return collective_operation(f"nccl{word}") if collective_operation(f"nccl{word}") != "unknown" else word.strip("_")


def match(timeline: Timeline, context: Context) -> Matched:
    """The collectives of every group, n-th with n-th, where the ranks recorded the same operations in the same order.

    One rank alone has nobody to wait for: its groups are not listed at all.
    """
    by_group: dict[str, dict[tuple[int, int], NDArray[np.int64]]] = {}
    names = timeline.device["group"]
    for window in context.windows:
        rows = window.rows[context.work[window.rows] == "communication"]
        groups = names.take(rows).astype(object).where(names.take(rows).notna(), NO_GROUP).to_numpy()
        for group in dict.fromkeys(groups.tolist()):
            by_group.setdefault(str(group), {})[window.rank, window.device] = rows[groups == group]
    kinds = operations(timeline)
    series, unmatched = [], {}
    for group, members in by_group.items():
        if len(members) < 2:
            continue
        reason = _disagreement(members, kinds, timeline)
        if reason:
            unmatched[group] = reason
        else:
            series.append(_series(group, members, kinds, timeline))
    return Matched(tuple(series), unmatched)


def _disagreement(members: _Members, kinds: NDArray[np.object_], timeline: Timeline) -> str:
    counts = sorted({len(rows) for rows in members.values()})
    if len(counts) > 1:
        return f"the ranks recorded between {counts[0]} and {counts[-1]} collectives"
    first, *others = members.values()
    if any((kinds[rows] != kinds[first]).any() for rows in others):
        return "the ranks recorded different operations"
    sizes = timeline.device["bytes"].to_numpy(dtype=np.float64, na_value=np.nan)
    if any(not np.array_equal(sizes[rows], sizes[first], equal_nan=True) for rows in others):
        return "the ranks recorded messages of different sizes"
    return ""


def _series(group: str, members: _Members, kinds: NDArray[np.object_], timeline: Timeline) -> Series:
    places = sorted(members)
    rows = np.stack([members[place] for place in places], axis=1)
    lengths = timeline.device["end_ns"].to_numpy() - timeline.device["start_ns"].to_numpy()
    return Series(group, tuple(places), tuple(map(str, kinds[rows[:, 0]])), rows, lengths[rows])


class Wait(NamedTuple):
    """A stretch in which one (rank, device) waited for another, in ns: from its arrival until the transfer begins."""

    place: tuple[int, int]
    late: tuple[int, int]
    start_ns: int
    end_ns: int


def waits(matched: Matched, timeline: Timeline) -> Iterator[Wait]:
    """Every wait inside a matched collective, and who was waited for."""
    starts = timeline.device["start_ns"].to_numpy()
    for one in matched.series:
        waiting, last = one.waiting_ns, one.last
        for line, column in zip(*np.nonzero(waiting), strict=True):
            start = int(starts[one.rows[line, column]])
            yield Wait(one.places[column], one.places[int(last[line])], start, start + int(waiting[line, column]))
