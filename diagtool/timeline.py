"""Timeline: what happened and when, in one shape whatever file it came from.

Frames with fixed columns, built by ``Timeline.build`` and joined by ``merge``. Times are integer nanoseconds since
``origin_ns``, exact; -1 is an unknown id and NA an unknown value. No analysis may change a frame.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from diagtool.diagnosis import Device, Loss, Source

_ID, _TIME, _WORD, _COUNT, _REAL = "int64", "int64", "category", "Int64", "Float64"

_SPAN = {"start_ns": _TIME, "end_ns": _TIME}
_SUMS = {
    f"{phase}_{name}": _COUNT for phase in ("prefill", "decode") for name in ("sum_q", "sum_kv", "sum_q_kv", "sum_q2")
}

COLUMNS: dict[str, dict[str, str]] = {
    # A call on a CPU thread; kind is op, launch, sync, copy, range, python or other.
    "host": {"rank": _ID, "kind": _WORD, "name": _WORD, **_SPAN, "process": _ID, "thread": _ID, "correlation": _ID},
    # Work on a GPU, or on the CPU where it is the device; kind is kernel, copy or set. Where a source gives shared
    # memory as one sum, as Kineto does, the sum stands in dynamic_smem and static_smem is NA. bytes: of a copy or set,
    # or the message of a collective; collective: its operation as the source calls it, group: its process group.
    "device": {
        "rank": _ID, "kind": _WORD, "name": _WORD, **_SPAN, "process": _ID, "device": _ID, "stream": _ID,
        "correlation": _ID, "graph": _ID, "graph_node": _ID, "bytes": _COUNT, "blocks": _COUNT, "threads": _COUNT,
        "registers": _COUNT, "static_smem": _COUNT, "dynamic_smem": _COUNT, "recorded_occupancy": _REAL,
        "group": _WORD, "collective": _WORD,
    },
    # A gauge at a time: series such as kv.free_blocks.
    "samples": {"rank": _ID, "series": _WORD, "time_ns": _TIME, "device": _ID, "value": "float64"},
    # A hardware counter of one launch; there is no clock to place it on.
    "counters": {"rank": _ID, "kernel": _WORD, "launch": _ID, "counter": _WORD, "value": "float64", "unit": _WORD},
    # An allocator event or block.
    "memory": {
        "rank": _ID, "time_ns": _TIME, "pool": _WORD, "stream": _ID, "segment": _ID, "action": _WORD, "address": _ID,
        "bytes": _COUNT, "requested_bytes": _COUNT, "state": _WORD, "owner": _WORD,
    },
    # An engine or training step, and the thread that marked it.
    "steps": {
        "rank": _ID, "kind": _WORD, "name": _WORD, **_SPAN, "process": _ID, "thread": _ID, **_SUMS,
        "running": _COUNT, "waiting": _COUNT, "preempted": _COUNT, "profiled": "boolean",
    },
    # One request.
    "requests": {
        "rank": _ID, "id": _WORD, "class": _WORD, "arrival_ns": _TIME, "scheduled_ns": _COUNT,
        "first_token_ns": _COUNT, "last_token_ns": _COUNT, "prompt_tokens": _COUNT, "output_tokens": _COUNT,
        "cached_tokens": _COUNT, "preemptions": _COUNT, "ttft_slo_s": _REAL, "tpot_slo_s": _REAL, "status": _WORD,
    },
    # One emitted token.
    "tokens": {"rank": _ID, "request": _WORD, "index": _ID, "time_ns": _TIME},
}  # fmt: skip

_COMPARABLE_NS = 1 << 61
_SORT_KEYS = ("start_ns", "time_ns", "arrival_ns")


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """All tables of COLUMNS, maybe empty, sorted by time, plus where they came from.

    ``origin_ns`` is the absolute time of 0 (Unix epoch where the source knows it). ``recording_ns`` is the (start, end)
    that the profiler itself states for a rank.
    """

    host: pd.DataFrame
    device: pd.DataFrame
    samples: pd.DataFrame
    counters: pd.DataFrame
    memory: pd.DataFrame
    steps: pd.DataFrame
    requests: pd.DataFrame
    tokens: pd.DataFrame
    source: Source
    devices: tuple[Device, ...] = ()
    origin_ns: int = 0
    recording_ns: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        source: Source,
        tables: Mapping[str, Mapping[str, Any] | pd.DataFrame] | None = None,
        **facts: Any,
    ) -> "Timeline":
        """A Timeline of the given tables (column name -> values); absent tables are empty, absent columns unknown.

        ValueError for an unknown table or column, or a row that ends before it starts.
        """
        tables = tables or {}
        unknown = set(tables) - set(COLUMNS)
        if unknown:
            raise ValueError(f"no such table: {', '.join(sorted(unknown))}")
        frames: dict[str, Any] = {name: _frame(name, tables.get(name)) for name in COLUMNS}
        return cls(**frames, source=source, **facts)

    def with_ranks(self, rank: int) -> "Timeline":
        """The same timeline labelled as one rank."""
        frames = {name: getattr(self, name).assign(rank=np.int64(rank)) for name in COLUMNS}
        spans = list(self.recording_ns.values())
        recording = {rank: spans[0]} if spans else {}
        devices = tuple(replace(device, rank=rank) for device in self.devices)
        return replace(self, **frames, devices=devices, recording_ns=recording)

    def keep(self, table: str, rows: np.ndarray[Any, Any]) -> "Timeline":
        """The same timeline with only some rows of a table."""
        chosen: dict[str, Any] = {table: getattr(self, table)[rows].reset_index(drop=True)}
        return replace(self, **chosen)

    def frames(self) -> dict[str, pd.DataFrame]:
        """Every table by name."""
        return {name: getattr(self, name) for name in COLUMNS}


def merge(parts: Sequence[Timeline]) -> Timeline:
    """One timeline of several, on the clock of the earliest origin."""
    if len(parts) == 1:
        return parts[0]
    origin = min(part.origin_ns for part in parts)
    if max(part.origin_ns for part in parts) - origin > _COMPARABLE_NS:
        # Decades apart: one of the clocks is wrong. Every rank is accounted for on its own clock anyway.
        parts = [replace(part, origin_ns=origin) for part in parts]
    frames = {}
    for table, columns in COLUMNS.items():
        shifted = [_shift(getattr(part, table), part.origin_ns - origin) for part in parts]
        frames[table] = _sorted(pd.DataFrame({name: _stack([frame[name] for frame in shifted]) for name in columns}))
    recording: dict[int, tuple[int, int]] = {}
    for part in parts:
        by = part.origin_ns - origin
        for rank, (start, end) in part.recording_ns.items():
            known = recording.get(rank, (start + by, end + by))
            recording[rank] = (min(known[0], start + by), max(known[1], end + by))
    first = parts[0]
    lost: dict[Loss, int] = {}
    for loss in (loss for part in parts for loss in part.source.lost):
        kind = replace(loss, count=0)
        lost[kind] = lost.get(kind, 0) + loss.count
    source = replace(
        first.source,
        files=tuple(file for part in parts for file in part.source.files),
        lost=tuple(replace(loss, count=count) for loss, count in lost.items()),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.source.notes)),
    )
    environment = {key: value for part in reversed(parts) for key, value in part.environment.items()}
    counts = [part.environment["events"] for part in parts if "events" in part.environment]
    if counts:
        environment["events"] = sum(counts)
    return replace(
        first,
        **frames,
        environment=environment,
        source=source,
        devices=tuple(dict.fromkeys(device for part in parts for device in part.devices)),
        origin_ns=origin,
        recording_ns=recording,
    )


def _frame(table: str, given: Mapping[str, Any] | pd.DataFrame | None) -> pd.DataFrame:
    columns = COLUMNS[table]
    values = given if given is not None else {}
    unknown = set(values) - set(columns)
    if unknown:
        raise ValueError(f"no such column in {table}: {', '.join(sorted(map(str, unknown)))}")
    length = next((len(values[str(name)]) for name in values), 0)
    frame = pd.DataFrame(
        {name: _column(values.get(name), dtype, length) for name, dtype in columns.items()}, copy=False
    )
    if "end_ns" in columns and (frame["end_ns"].to_numpy() < frame["start_ns"].to_numpy()).any():
        raise ValueError(f"a row of {table} ends before it starts")
    return _sorted(frame)


def _column(values: Any, dtype: str, length: int) -> Any:
    if values is None:
        if dtype == _WORD:
            return pd.Categorical.from_codes(np.full(length, -1, np.int8), categories=pd.Index([], dtype=object))
        missing: Any = -1 if dtype == "int64" else np.nan if dtype == "float64" else pd.NA
        return pd.Series(missing, index=range(length), dtype=dtype).array
    if dtype == _WORD:
        return values if isinstance(values, pd.Categorical) else pd.Categorical(list(values))
    if dtype == "int64":
        return np.asarray(values, np.int64)
    return pd.Series(values, dtype=dtype).array


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    key = next((name for name in _SORT_KEYS if name in frame), None)
    if key is None or frame[key].is_monotonic_increasing:
        return frame
    # Stable, so that equal stamps keep the order of the file.
    return frame.take(np.argsort(frame[key].to_numpy(), kind="stable")).reset_index(drop=True)


def _shift(frame: pd.DataFrame, by_ns: int) -> pd.DataFrame:
    if not by_ns:
        return frame
    times = [name for name in frame if str(name).endswith("_ns")]
    return frame.assign(**{str(name): frame[name] + by_ns for name in times})


def _stack(columns: Sequence[pd.Series]) -> Any:
    if isinstance(columns[0].dtype, pd.CategoricalDtype):
        return pd.Categorical(pd.concat([column.astype(object) for column in columns], ignore_index=True))
    return pd.concat(list(columns), ignore_index=True)
