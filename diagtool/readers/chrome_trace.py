"""Events of a Chrome trace, in batches, from a file of any size and in any state.

The file is cut into batches at event boundaries and each batch is decoded by a typed decoder. A boundary is only
guessed (``}, {``) but proven by the decoding: a batch that starts at an event and is valid JSON ends at one. What the
strict decoder refuses (control characters, bad UTF-8, NaN, a wrong type, unescaped quotes, a broken tail) is read
again event by event, and what still cannot be read is counted.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from diagtool.errors import UnreadableInput
from diagtool.readers.files import Losses, Progress, blocks
from diagtool.readers.salvage import clean, last_boundary, loose_values, salvage
from diagtool.readers.trace_events import Complete, decode
from diagtool.units import count_text

HEADER_KEYS = (
    "schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "with_stack",
    "cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version",
)  # fmt: skip


_Header = msgspec.defstruct("Header", [(key, Any, None) for key in HEADER_KEYS])

_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_BOUNDARY = re.compile(rb'\}\s*,\s*(?=\{\s*"ph")')
_ANY_BOUNDARY = re.compile(rb"\}\s*,\s*(?=\{)")
_BLANK = b"\xef\xbb\xbf \t\r\n\0"
_SEPARATORS = b" \t\r\n,\0"
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_MAX_TAIL_BYTES = _MAX_EVENT_BYTES = 64 << 20
_NEAR_THE_END = 64 << 10
_TRIES = 4


class ChromeTrace:
    """One trace file. ``header`` and ``event_count`` are complete once ``batches`` is exhausted."""

    def __init__(self, path: Path, losses: Losses, on_progress: Progress | None = None) -> None:
        self.path = path
        self.header: dict[str, Any] = {}
        self.event_count = 0
        self._losses = losses
        self._blocks = blocks(path, losses, on_progress)
        self._searched = 0

    def batches(self) -> Iterator[list[Complete]]:
        """The complete events, a few megabytes of text at a time.

        UnreadableInput when the file is empty or holds no list of events.
        """
        pending, is_object = self._find_events()
        for block in self._blocks:
            pending += block
            if pending and pending[0] in _SEPARATORS:
                pending = bytearray(pending.lstrip(_SEPARATORS))
            cut, batch = self._strict_batch(pending)
            if batch is None:
                events, rest, ended = self._salvage(pending, final=False)
                yield events
                if ended:
                    self._read_tail(rest)
                    return
                pending = bytearray(rest)
            else:
                yield batch
                del pending[:cut]
        yield from self._last_batch(bytes(pending), is_object)

    def _find_events(self) -> tuple[bytearray, bool]:
        seen = bytearray()
        searched = 0
        for block in self._blocks:
            if not seen and block.lstrip(_BLANK)[:1] == b"[":
                return bytearray(block[block.index(b"[") + 1 :]), False
            seen += block
            for found in _EVENTS_KEY.finditer(seen, searched):
                if _depth(bytes(seen[: found.start()])) == 1 or len(seen) > _MAX_TAIL_BYTES:
                    self._keep_header(bytes(seen[: found.start()]), bytes(seen[: found.end()]) + b"]}")
                    return bytearray(seen[found.end() :]), True
            searched = max(len(seen) - 64, 0)
        found_anywhere = _EVENTS_KEY.search(seen)
        if found_anywhere:  # the braces before it do not add up: a broken header is no reason to read nothing
            self._keep_header(bytes(seen[: found_anywhere.start()]), b"")
            return bytearray(seen[found_anywhere.end() :]), True
        if not seen.strip(_BLANK):
            raise UnreadableInput(f"{self.path}: the file is empty", "record it again")
        raise UnreadableInput(
            f"{self.path}: no traceEvents found in {count_text(len(seen))} bytes of JSON",
            "export the profile with prof.export_chrome_trace(path)",
        )

    def _strict_batch(self, text: bytearray) -> tuple[int, list[Complete] | None]:
        """Decode up to a boundary near the end of ``text``; (where it lies, events) or (0, None)."""
        for pattern in (_BOUNDARY, _ANY_BOUNDARY):
            start = max(len(text) - _NEAR_THE_END, 0)
            ends = [match.end() for match in pattern.finditer(text, start)] or [
                match.end() for match in pattern.finditer(text, min(self._searched, start), start + 64)
            ]
            for end in reversed(ends[-_TRIES:]):
                with memoryview(text)[: text.rindex(b"}", 0, end) + 1] as complete:
                    events = self._strict(b"".join((b"[", complete, b"]")))
                if events is not None:
                    self._searched = 0
                    return end, events
        self._searched = max(len(text) - _NEAR_THE_END, 0)
        return 0, None

    def _strict(self, text: bytes) -> list[Complete] | None:
        decoded = decode(text, self._losses)
        if decoded is None:
            return None
        events, count = decoded
        self.event_count += count
        return events

    def _last_batch(self, text: bytes, is_object: bool) -> Iterator[list[Complete]]:
        """The events of the last stretch and what stands behind them."""
        end = text.rfind(b"}\n  ]") if is_object else -1
        for stop in dict.fromkeys((end + 1 if end >= 0 else -1, text.rfind(b"]"))):
            # A strict reading needs the one bracket that closes the list; the tail proves that it is the right one.
            if stop < 0 or text[stop:].lstrip()[:1] != b"]":
                continue
            tail = text[stop:].lstrip()[1:]
            if not is_object or self._is_tail(tail):
                batch = self._strict(b"[" + text[:stop] + b"]")
                if batch is not None:
                    self._read_tail(tail)
                    yield batch
                    return
        events, rest, ended = self._salvage(text, final=True)
        if ended:
            self._read_tail(rest)
        else:
            self._losses.add("file cut short", 1, "the list of events does not end", "file")
        yield events

    @staticmethod
    def _is_tail(tail: bytes) -> bool:
        try:
            msgspec.json.decode(b'{"":0' + tail)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        return True

    def _salvage(self, raw: bytes | bytearray, final: bool) -> tuple[list[Complete], bytes, bool]:
        """Read events one by one; (events, unread rest, whether the list of events ended)."""
        stop = len(raw) if final else last_boundary(raw)
        if not stop and len(raw) < _MAX_EVENT_BYTES:
            return [], bytes(raw), False
        stop = stop or len(raw)
        found = salvage(bytes(raw[:stop]), self._losses)
        self.event_count += found.total
        return found.events, found.rest + bytes(raw[stop:]), found.ended

    def _keep_header(self, loose: bytes, closed: bytes) -> None:
        """Take the known keys of the text around the events; nothing else of it is ever looked at."""
        try:
            header = msgspec.json.decode(closed, type=_Header)
            found = {key: getattr(header, key) for key in HEADER_KEYS}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = loose_values(loose.decode("utf-8", "replace"), HEADER_KEYS)
        self.header.update({key: clean(value) for key, value in found.items() if value is not None})

    def _read_tail(self, start: bytes) -> None:
        tail = bytearray(start)
        for block in self._blocks:
            if len(tail) < _MAX_TAIL_BYTES:
                tail += block
        rest = bytes(tail).strip(_BLANK)
        if rest.strip(b"}"):
            self._keep_header(bytes(tail), b'{"":0' + bytes(tail))
        if _EVENTS_KEY.search(rest) or rest.lstrip(b"} \t\r\n")[:1] in (b"{", b"["):
            self._losses.add("further content behind the list of events, not read", 1, unit="file")


def _depth(text: bytes) -> int:
    """How many braces and brackets are open at the end of some JSON."""
    bare = _STRING.sub(b"", text)
    return bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")
