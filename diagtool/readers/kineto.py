"""PyTorch profiler traces (Kineto, Chrome trace JSON) to a Timeline: CUDA, ROCm, MTIA and XPU, old and new categories.

Events are placed by category alone; names decide only what kind of call a runtime call is. Launches are not matched
here: that needs both sides, which may stand in two files.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagtool.diagnosis import Source
from diagtool.errors import UnreadableInput
from diagtool.readers import kineto_header, step_marks
from diagtool.readers.chrome_trace import ChromeTrace
from diagtool.readers.files import Losses, Progress
from diagtool.readers.kineto_args import CallArgs, DeviceArgs, counts, decoded, integer, message_bytes, product, real
from diagtool.readers.kineto_labels import CALL_KINDS, Label, label_of
from diagtool.readers.stamps import nanoseconds
from diagtool.readers.trace_events import Complete
from diagtool.timeline import Timeline
from diagtool.units import NS_PER_S, count_text, plural

FORMAT = "kineto"


_UNKNOWN = -1

# An event stamped 0 is stray when all others are this far away: in time, and in multiples of what they span.
_STRAY_NS, _STRAY_OF_SPAN = 60 * NS_PER_S, 100

# No event lasts a year. With stamps below LIMIT_NS this keeps every sum inside 64 bits.
_LONGEST_NS = 1 << 55

# Of the name of an event that is lost.
_EXAMPLE = 200

# Labels of events that become no row.
_PASSED_OVER, _RECORDING = -1, -2


def sniff(head: bytes) -> bool:
    """A JSON object with traceEvents, or a bare array of Chrome events."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] == b"{":
        return b'"traceEvents"' in text or (b'"schemaVersion"' in text and b'"deviceProperties"' in text)
    return re.match(rb"\[\s*\{", text) is not None and re.search(rb'"ph"\s*:\s*"', text) is not None


def read(path: Path, on_progress: Progress | None = None) -> Timeline:
    """The timeline of one trace file. ``rank`` is the one the file states, or -1.

    UnreadableInput when it is empty or holds no events. What was lost on the way stands in ``source.lost``.
    """
    losses = Losses()
    trace = ChromeTrace(path, losses, on_progress)
    columns = _Columns(losses)
    for batch in trace.batches():
        columns.add(batch)
    timeline = columns.timeline(trace, path)
    if not len(timeline.host) and not len(timeline.device):
        raise UnreadableInput(
            f"{path}: no host call or device work with a time among {plural(trace.event_count, 'event')}"
            + "".join(f"; {count_text(loss.count)} x {loss.what}" for loss in losses.all()),
            "let the profiled code run between prof.start() and prof.stop()",
        )
    return timeline


class _Columns:
    """Column arrays of host and device events, grown batch by batch so that events never pile up as objects.

    A trace has a hundred names for each hundred thousand events: each event costs one look-up of its label.
    """

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._labels: list[Label] = []
        self._by_category: dict[str | None, dict[str, int]] = {}
        self._groups: dict[str, int] = {}
        self._collectives: dict[str, int] = {}
        self._threads: dict[str, int] = {}
        self._host: list[dict[str, NDArray[Any]]] = []
        self._device: list[dict[str, NDArray[Any]]] = []
        self._recording: list[tuple[int, int]] = []

    def add(self, batch: Sequence[Complete]) -> None:
        """Take over one batch of events."""
        events: list[Complete] = []
        labels: list[int] = []
        by_category = self._by_category
        for event in batch:
            try:
                label = by_category[event.cat][event.name]
            except KeyError:
                label = self._new_label(event)
            if label >= 0:
                events.append(event)
                labels.append(label)
            elif label == _RECORDING:
                self._add_recording(event)
        tables = [self._labels[label].table for label in labels]
        for table, rows, made in (
            ("host", self._host_rows, self._host),
            ("device", self._device_rows, self._device),
        ):
            chosen = [index for index, name in enumerate(tables) if name == table]
            if chosen:
                made.append(rows([events[index] for index in chosen], [labels[index] for index in chosen]))

    def timeline(self, trace: ChromeTrace, path: Path) -> Timeline:
        """The finished timeline; times count from the earliest stamp that can be true."""
        header = trace.header
        host, device = _stacked(self._host), _stacked(self._device)
        for rows, what in ((host, "host"), (device, "device")):
            if rows:
                _drop_stray_zeros(rows, what, self._losses)
        base = integer(header.get("baseTimeNanoseconds"), 0)
        stamps = [int(rows["start_ns"].min()) for rows in (host, device) if rows and len(rows["start_ns"])]
        first = min(stamps, default=0)
        for rows in (host, device):
            if rows:
                rows["start_ns"] -= first
                rows["end_ns"] -= first
        rank = kineto_header.rank(header)
        names = self._names()
        steps = _steps(host, names) if host else {}
        for rows in (host, device, steps):
            if rows:
                rows["rank"] = np.full(len(rows["start_ns"]), rank, np.int64)
        for rows in (host, device, steps):
            if rows:
                label = rows.pop("label")
                # What looks at each name once should not look at those of the other tables.
                rows["name"] = names[label].remove_unused_categories()
                rows.setdefault("kind", _categorical([one.kind for one in self._labels])[label])
        multiprocessors: dict[int, int] = {}
        if device:
            multiprocessors = kineto_header.multiprocessors(
                device["device"], device["blocks"], device.pop("blocks_per_sm")
            )
            for column, words in (("group", self._groups), ("collective", self._collectives)):
                device[column] = pd.Categorical.from_codes(device[column], categories=_words(words))
        recording = [time - first for span in self._recording for time in span]
        devices = kineto_header.devices(
            header, rank, np.unique(device["device"]).tolist() if device else [], multiprocessors
        )
        return Timeline.build(
            Source(
                FORMAT,
                "PyTorch profiler",
                kineto_header.version(header),
                (str(path).encode("utf-8", "replace").decode(),),
                self._losses.all(),
                (*self._losses.notes(), *kineto_header.notes(devices)),
            ),
            {"host": host, "device": device, "steps": steps},
            devices=devices,
            origin_ns=base + first,
            recording_ns={rank: (min(recording), max(recording))} if recording else {},
            environment={"events": trace.event_count, **_server(steps, names), **kineto_header.runtime(header)},
        )

    def _new_label(self, event: Complete) -> int:
        category, name = event.cat, event.name
        found = label_of(category, name)
        if found is None:
            label = _RECORDING if category == "Trace" and name.startswith("PyTorch Profiler") else _PASSED_OVER
        else:
            label = len(self._labels)
            self._labels.append(found)
        self._by_category.setdefault(category, {})[name] = label
        return label

    def _names(self) -> pd.Categorical:
        """The name of each label."""
        return _categorical([one.name for one in self._labels])

    def _add_recording(self, event: Complete) -> None:
        values, usable = nanoseconds([event.ts, event.dur])
        if usable.all():
            self._recording.append((int(values[0]), int(values[0] + values[1])))

    def _spans(self, events: Sequence[Complete]) -> tuple[dict[str, NDArray[Any]], NDArray[np.bool_]]:
        """Start and end of events and which of them have both, in order."""
        starts, has_start = nanoseconds([event.ts for event in events])
        lengths, has_length = nanoseconds([event.dur for event in events])
        usable = has_start & has_length & (np.abs(lengths) < _LONGEST_NS)
        backward = usable & (lengths < 0)
        self._losses.add("events without a usable ts or dur", int((~usable).sum()), _first(events, ~usable))
        self._losses.add("events that end before they start", int(backward.sum()), _first(events, backward))
        keep = usable & ~backward
        return {"start_ns": starts, "end_ns": starts + lengths}, keep

    def _host_rows(self, events: list[Complete], labels: list[int]) -> dict[str, NDArray[Any]]:
        rows, keep = self._spans(events)
        correlation = np.full(len(events), _UNKNOWN, np.int64)
        known = self._labels
        called = [index for index, label in enumerate(labels) if known[label].kind in CALL_KINDS and events[index].args]
        args = decoded([events[index].args for index in called], CallArgs)
        correlation[called] = self._integers([item.correlation for item in args], "correlation")
        rows |= {
            "label": np.array(labels, np.int32),
            "process": self._ids([event.pid for event in events]),
            "thread": self._ids([event.tid for event in events]),
            "correlation": correlation,
        }
        return {name: values[keep] for name, values in rows.items()}

    def _device_rows(self, events: list[Complete], labels: list[int]) -> dict[str, NDArray[Any]]:
        rows, keep = self._spans(events)
        args = decoded([event.args for event in events], DeviceArgs)
        device = self._integers([item.device for item in args], "device")
        stream = self._integers([item.stream for item in args], "stream")
        pid = np.array([integer(event.pid, _UNKNOWN) for event in events], np.int64)
        rows |= {
            "label": np.array(labels, np.int32),
            # Kineto draws a device's work in a process whose id is the index of the device.
            "device": np.where(device == _UNKNOWN, pid, device),
            "stream": stream,
            "correlation": self._integers([item.correlation for item in args], "correlation"),
            # Outside a graph the profiler writes 0.
            "graph": self._integers([item.graph or None for item in args], "graph id"),
            "graph_node": self._integers([item.graph_node or None for item in args], "graph node id"),
            "bytes": counts([item.bytes if item.collective is None else message_bytes(item) for item in args]),
            "blocks": counts([product(item.grid) for item in args]),
            "threads": counts([product(item.block) for item in args]),
            "registers": counts([item.registers for item in args]),
            "dynamic_smem": counts([item.shared_memory for item in args]),
            "recorded_occupancy": real([
                item.old_occupancy if item.occupancy is None else item.occupancy for item in args
            ]) / 100,
            "blocks_per_sm": real([item.blocks_per_sm for item in args]),
            "group": np.array([_number(self._groups, item.group) for item in args], np.int32),
            "collective": np.array([_number(self._collectives, item.collective) for item in args], np.int32),
        }  # fmt: skip
        return {name: values[keep] for name, values in rows.items()}

    def _integers(self, values: list[Any], what: str) -> NDArray[np.int64]:
        try:
            return np.array([_UNKNOWN if value is None else value for value in values], np.int64)
        except (ValueError, TypeError, OverflowError):
            ids = [integer(value, _UNKNOWN) for value in values]
            odd = sum(value is not None and type(value) is not int for value in values)
            self._losses.mend(f"{what} ids that are not whole numbers, taken as unknown", odd)
            return np.array(ids, np.int64)

    def _ids(self, values: list[int | str | None]) -> NDArray[np.int64]:
        """Process or thread ids; a name gets a number below -1 of its own."""
        try:
            return np.array(values, np.int64)
        except (ValueError, TypeError, OverflowError):
            return np.array([self._id(value) for value in values], np.int64)

    def _id(self, value: int | str | None) -> int:
        if isinstance(value, str):
            return self._threads.setdefault(value, -2 - len(self._threads))
        return integer(value, _UNKNOWN)


def _number(known: dict[str, int], word: str | None) -> int:
    return _UNKNOWN if word is None else known.setdefault(word, len(known))


def _categorical(words: Sequence[str]) -> pd.Categorical:
    """A word per label as a categorical to index with arrays of labels."""
    codes: dict[str, int] = {}
    values = [codes.setdefault(word, len(codes)) for word in words]
    return pd.Categorical.from_codes(values, categories=_words(codes))


def _words(words: Iterable[str]) -> pd.Index:
    return pd.Index(list(words), dtype=object)


def _stacked(batches: list[dict[str, NDArray[Any]]]) -> dict[str, Any]:
    if not batches:
        return {}
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def _drop_stray_zeros(rows: dict[str, Any], what: str, losses: Losses) -> None:
    """Leave out events stamped 0 in a trace that happened elsewhere: a lost stamp must not set the span."""
    starts = rows["start_ns"]
    zero = starts == 0
    if not zero.any() or zero.all():
        return
    others = starts[~zero]
    distance, span = int(np.abs(others).min()), int(others.max() - others.min())
    empty = zero & (rows["end_ns"] == 0)
    if (
        np.count_nonzero(empty) > 1 and distance > NS_PER_S
    ):  # a lost record has neither a time nor a length, a real one has one of them
        zero = empty
    elif distance <= max(_STRAY_OF_SPAN * span, _STRAY_NS):
        zero = np.zeros(len(starts), np.bool_)
    if zero.any():
        losses.add(f"{what} events with a time stamp of 0", int(zero.sum()))
        for name in rows:
            rows[name] = rows[name][~zero]


def _steps(host: dict[str, Any], names: pd.Categorical) -> dict[str, Any]:
    kinds = {label: kind for label, name in enumerate(names) if (kind := step_marks.kind(name))}
    rows = np.flatnonzero(np.isin(host["label"], list(kinds)))
    if not len(rows):
        return {}
    labels = host["label"][rows]
    return {
        "kind": [kinds[label] for label in labels.tolist()],
        **step_marks.columns([names.categories[names.codes[label]] for label in labels.tolist()]),
        **{name: host[name][rows].copy() for name in ("label", "start_ns", "end_ns", "process", "thread")},
    }


def _server(steps: dict[str, Any], names: pd.Categorical) -> dict[str, str]:
    """The server whose marks or modules the trace shows. SGLang writes vLLM's marks beside its own."""
    kinds = set(steps.get("kind", ()))
    for server in ("sglang", "vllm"):
        if server in kinds or any(name.startswith(f"{server}/") for name in names.categories):
            return {"server": server}
    return {}


def _first(events: Sequence[Complete], rows: NDArray[np.bool_]) -> str:
    return events[int(np.argmax(rows))].name[:_EXAMPLE] if rows.any() else ""
