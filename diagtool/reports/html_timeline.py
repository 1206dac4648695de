"""The events of a timeline packed for the page: a lane per stream and per launching thread, exact to the nanosecond.

Each lane is three or four columns of whole numbers: the start as the difference to the start before, the length, the
number of the name and, for device work, the difference in the number of its launch. Each column is LEB128 (seven bits
a byte, lowest first) in base64; ``timeline_data.js`` reads it.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagtool.device_work import COPY_KINDS, classify
from diagtool.diagnosis import Column, Scalar, Table
from diagtool.grouping import groups
from diagtool.launches import NO_LAUNCH, match
from diagtool.screening import screen
from diagtool.timeline import Timeline
from diagtool.units import count_text, plural, printable, seconds

# A page of so many events has about 10 MB; beyond, its time runs only so far.
MOST_EVENTS = 1_000_000
MOST_LANES = 160
MOST_SAMPLES = 500_000
MOST_STEPS = 60
_LONGEST_NAME, _MANY_NAMES, _LONGEST_OF_MANY = 400, 20_000, 80
# What a JavaScript number still holds exactly: 104 days.
_EXACT_NS = 1 << 53

KINDS = ("compute", "communication", "copy", "launch", "blocking call", "copy call", "step", "operator")
_COMPUTE, _COMMUNICATION, _COPY, _LAUNCH, _BLOCKING, _COPY_CALL, _STEP, _OPERATOR = range(len(KINDS))
_CALLS = {"launch": _LAUNCH, "sync": _BLOCKING, "copy": _COPY_CALL}
_COPIES = (*COPY_KINDS, "copy")

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """Events drawn in one row, by start. ``launch`` is the row of ``host`` that launched each, or NO_LAUNCH.

    ``rows`` are those of the table the events come from; ``kinds`` are indices of KINDS.
    """

    table: str
    title: str
    rank: int
    starts: Integers
    ends: Integers
    names: NDArray[Any]
    kinds: Integers
    rows: Integers
    launch: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    def keep(self, chosen: NDArray[np.bool_]) -> "Lane":
        """The lane with some of its events."""
        columns = ("starts", "ends", "names", "kinds", "rows", *(("launch",) if len(self.launch) else ()))
        return replace(self, **{name: getattr(self, name)[chosen] for name in columns})


@dataclass(frozen=True, slots=True)
class Packed:
    """What the page holds: ``data`` as JSON can carry it, ``notes`` on what it leaves out."""

    data: Mapping[str, Any]
    notes: tuple[str, ...]
    events: int


def pack(timeline: Timeline) -> Packed:
    """The lanes and sample series of a timeline, without the events that cannot be true."""
    clean, suspects = screen(timeline)
    impossible = sum(one.excluded for one in suspects)
    notes = [f"{plural(impossible, 'event')} that cannot be true left out"] if impossible else []
    lanes, cut = _bounded([lane for lane in _lanes(clean) if len(lane.starts)])
    series = list(_series(clean))
    notes += cut
    begins = [int(lane.starts[0]) for lane in lanes] + [int(one["at"][0]) for one in series]
    ends = [int(lane.ends.max()) for lane in lanes] + [int(one["at"][-1]) for one in series]
    if not begins:
        return Packed({}, tuple(notes), 0)
    zero, length = min(begins), max(ends) - min(begins)
    if length >= _EXACT_NS:
        return Packed({}, ("the events lie more than 104 days apart: one of the clocks is wrong",), 0)
    names = _Names()
    packed = list(_packed(lanes, zero, names))
    longest = _LONGEST_NAME if len(names.known) <= _MANY_NAMES else _LONGEST_OF_MANY
    data = {
        "length": length,
        "kinds": KINDS,
        "lanes": packed,
        "names": [_shown(name, longest) for name, _ in names.known],
        "nameKinds": [kind for _, kind in names.known],
        "series": [_packed_series(one, zero) for one in series],
    }
    return Packed(data, tuple(notes), sum(len(lane.starts) for lane in lanes))


def embedded(data: Mapping[str, Any]) -> str:
    """JSON that can stand inside a script element whatever its strings hold."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def varints(values: Integers) -> bytes:
    """Each of some numbers, none negative, in as many bytes as it needs: LEB128."""
    rest = values.astype(np.uint64)
    sizes = np.ones(len(rest), np.int64)
    for bits in range(7, 64, 7):
        sizes += rest >= np.uint64(1 << bits)
    at = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    for place in range(int(sizes.max()) if len(sizes) else 0):
        here = sizes > place
        more = np.where(sizes[here] > place + 1, 128, 0)
        out[at[here] + place] = ((rest[here] >> np.uint64(7 * place)) & np.uint64(127)) | more.astype(np.uint64)
    return out.tobytes()


def zigzag(values: Integers) -> Integers:
    """Small numbers of either sign as small numbers without one: 0, -1, 1, -2 become 0, 1, 2, 3."""
    return np.where(values < 0, -2 * values - 1, 2 * values)


def step_table(timeline: Timeline) -> Table | None:
    """The step marks as they were recorded; None where there are none."""
    steps = timeline.steps
    if not len(steps):
        return None
    columns = (Column("rank"), Column("step"), Column("kind"), Column("start", "s"), Column("length", "s"))
    first = int(steps["start_ns"].to_numpy()[0])
    shown = steps.head(MOST_STEPS)
    spans = zip(shown["start_ns"].tolist(), shown["end_ns"].tolist(), strict=True)
    rows: list[tuple[Scalar, ...]] = [
        (rank, str(name), str(kind), seconds(start - first), seconds(end - start))
        for rank, name, kind, (start, end) in zip(
            shown["rank"].tolist(), shown["name"], shown["kind"], spans, strict=True
        )
    ]
    more = f", the first {MOST_STEPS} of {count_text(len(steps))}" if len(steps) > MOST_STEPS else ""
    return Table("step_marks", f"Steps as marked{more}", columns, tuple(rows))


class _Names:
    """Numbers of names, the same name once for each kind of event it stands for."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, int], int] = {}

    def numbers(self, lane: Lane) -> Integers:
        """The number of each event's name; the frequent ones are small."""
        codes, found = pd.factorize(lane.names)
        pairs, inverse, counts = np.unique(codes * len(KINDS) + lane.kinds, return_inverse=True, return_counts=True)
        numbers = np.empty(len(pairs), np.int64)
        for i in np.argsort(-counts, kind="stable").tolist():
            code, kind = divmod(int(pairs[i]), len(KINDS))
            numbers[i] = self.known.setdefault((str(found[code]), kind), len(self.known))
        return numbers[inverse]


def _lanes(timeline: Timeline) -> Iterator[Lane]:
    """By rank: steps, the operators and the launch calls of each launching thread, the streams of each device."""
    launched_by = match(timeline)
    calls = timeline.host["kind"].isin(_CALLS).to_numpy(copy=True)
    calls[launched_by[launched_by != NO_LAUNCH]] = True
    many = len({int(rank) for frame in (timeline.host, timeline.device) for rank in frame["rank"].unique()}) > 1
    lanes = [
        *_step_lanes(timeline),
        *_thread_lanes(timeline, calls),
        *_stream_lanes(timeline, launched_by),
    ]
    for lane in sorted(lanes, key=lambda lane: lane.rank):
        yield replace(lane, title=f"rank {lane.rank} {lane.title}") if many else lane


def _step_lanes(timeline: Timeline) -> Iterator[Lane]:
    for (rank,), rows in groups(timeline.steps["rank"].to_numpy()):
        yield _lane(timeline, "steps", "steps", rank, rows, np.full(len(rows), _STEP))


def _thread_lanes(timeline: Timeline, calls: NDArray[np.bool_]) -> Iterator[Lane]:
    host = timeline.host
    kind = host["kind"].astype(object).to_numpy()
    operators = kind == "op"
    found = []
    for (rank, process, thread), rows in groups(*(host[name].to_numpy() for name in ("rank", "process", "thread"))):
        found.append((rank, process, thread, _outermost(host, rows[operators[rows]]), rows[calls[rows]]))
    launching = [one for one in found if len(one[4])]
    for rank, process, thread, outer, called in launching or found:
        same = [(one[1], one[2]) for one in launching or found if one[0] == rank]
        number = thread if len({process for process, _ in same}) == 1 else f"{process}/{thread}"
        where = f", thread {number}" if len(same) > 1 else ""
        yield _lane(timeline, "host", f"operators{where}", rank, outer, np.full(len(outer), _OPERATOR))
        kinds = np.array([_CALLS.get(str(one), _LAUNCH) for one in kind[called]], np.int64)
        yield _lane(timeline, "host", f"launches{where}", rank, called, kinds)


def _outermost(host: pd.DataFrame, rows: Integers) -> Integers:
    """Of the calls of one thread those that no other of them contains."""
    starts, ends = host["start_ns"].to_numpy()[rows], host["end_ns"].to_numpy()[rows]
    order = np.lexsort((-ends, starts))
    rows, starts, ends = rows[order], starts[order], ends[order]
    outer = np.ones(len(rows), np.bool_)
    outer[1:] = ends[1:] > np.maximum.accumulate(ends)[:-1]
    found: Integers = rows[outer]
    return found


def _stream_lanes(timeline: Timeline, launched_by: Integers) -> Iterator[Lane]:
    device = timeline.device
    work = classify(device)
    kinds = np.where(work == "communication", _COMMUNICATION, np.where(np.isin(work, _COPIES), _COPY, _COMPUTE))
    devices = {(rank, index) for (rank, index), _ in groups(device["rank"].to_numpy(), device["device"].to_numpy())}
    for (rank, index, stream), rows in groups(*(device[name].to_numpy() for name in ("rank", "device", "stream"))):
        alone = sum(one == rank for one, _ in devices) == 1
        where = "" if alone else f"device {index} "
        title = f"{where}stream {stream}" if stream >= 0 else f"{where}no stream"
        lane = _lane(timeline, "device", title, rank, rows, kinds[rows])
        yield replace(lane, launch=launched_by[lane.rows])


def _lane(timeline: Timeline, table: str, title: str, rank: int, rows: Integers, kinds: Integers) -> Lane:
    frame: pd.DataFrame = getattr(timeline, table)
    starts, ends = frame["start_ns"].to_numpy()[rows], frame["end_ns"].to_numpy()[rows]
    # The longer first, so that what another event contains comes after it.
    order = np.lexsort((-ends, starts))
    names = frame["name"].take(rows[order]).astype(object).fillna("unnamed").to_numpy()
    return Lane(table, title, rank, starts[order], ends[order], names, kinds[order], rows[order])


def _bounded(lanes: Sequence[Lane]) -> tuple[list[Lane], list[str]]:
    """Not more lanes and events than a page can carry, and words on what is left out."""
    notes, kept = [], list(lanes)
    if len(kept) > MOST_LANES:
        fullest = sorted(range(len(kept)), key=lambda i: -len(kept[i].starts))[:MOST_LANES]
        notes.append(f"{plural(len(kept) - MOST_LANES, 'lane')} with the fewest events left out")
        kept = [kept[i] for i in sorted(fullest)]
    starts = np.concatenate([lane.starts for lane in kept]) if kept else np.empty(0, np.int64)
    if len(starts) > MOST_EVENTS:
        until = int(np.partition(starts, MOST_EVENTS)[MOST_EVENTS])
        kept = [lane.keep(lane.starts < until) for lane in kept]
        kept = [lane for lane in kept if len(lane.starts)]
        notes.append(f"only the first {count_text(MOST_EVENTS)} of {count_text(len(starts))} events")
    return kept, notes


def _packed(lanes: Sequence[Lane], zero: int, names: _Names) -> Iterator[dict[str, Any]]:
    highest = max((int(lane.rows.max()) for lane in lanes if lane.table == "host"), default=-1)
    numbers = np.full(highest + 2, -1, np.int64)
    count = 0
    for lane in lanes:
        if _is_launches(lane):
            numbers[lane.rows] = np.arange(count, count + len(lane.rows))
            count += len(lane.rows)
    for lane in lanes:
        packed = {
            "title": lane.title,
            "rank": lane.rank,
            "count": len(lane.starts),
            "launches": _is_launches(lane),
            "starts": _base64(varints(np.diff(lane.starts, prepend=zero))),
            "lengths": _base64(varints(lane.ends - lane.starts)),
            "names": _base64(varints(names.numbers(lane))),
        }
        if lane.table == "device":
            known = np.where((lane.launch >= 0) & (lane.launch <= highest), lane.launch, -1)
            packed["launch"] = _base64(varints(_links(numbers[known])))
        yield packed


def _is_launches(lane: Lane) -> bool:
    return lane.table == "host" and bool((lane.kinds != _OPERATOR).any())


def _links(launches: Integers) -> Integers:
    """0 for none, else 1 more than the difference to the number of the launch before it."""
    known = launches >= 0
    links = np.zeros(len(launches), np.int64)
    links[known] = zigzag(np.diff(launches[known], prepend=0)) + 1
    return links


def _series(timeline: Timeline) -> Iterator[dict[str, Any]]:
    """Each gauge of each device; a value that is no number is left out."""
    samples = timeline.samples.loc[np.isfinite(timeline.samples["value"].to_numpy())].head(MOST_SAMPLES)
    ranks = samples["rank"].nunique() > 1
    codes = samples["series"].cat.codes.to_numpy().astype(np.int64)
    for (code, rank, device), rows in groups(codes, samples["rank"].to_numpy(), samples["device"].to_numpy()):
        name = str(samples["series"].cat.categories[code]) if code >= 0 else "unnamed"
        where = [f"rank {rank}"] * ranks + [f"device {device}"] * (device >= 0 and samples["device"].nunique() > 1)
        title = f"{name} ({', '.join(where)})" if where else name
        at, values = samples["time_ns"].to_numpy()[rows], samples["value"].to_numpy()[rows]
        yield {"title": title, "at": at, "values": values}


def _packed_series(one: Mapping[str, Any], zero: int) -> dict[str, Any]:
    return {
        "title": _shown(one["title"], _LONGEST_OF_MANY),
        "count": len(one["at"]),
        "at": _base64(varints(np.diff(one["at"], prepend=zero))),
        "values": _base64(one["values"].astype("<f8").tobytes()),
    }


def _shown(name: str, longest: int) -> str:
    text = printable(name)
    return text if len(text) <= longest else f"{text[: longest - 1]}\N{HORIZONTAL ELLIPSIS}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
