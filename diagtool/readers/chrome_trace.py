"""Events of a Chrome trace, in batches, from a file of any size and in any state.

The file is cut into batches at event boundaries and each batch is decoded by a typed decoder. A boundary is only
guessed (``}, {``) but proven by the decoding: a batch that starts at an event and is valid JSON ends at one. What the
strict decoder refuses (control characters, bad UTF-8, NaN, a wrong type, unescaped quotes, a broken tail) is read
again event by event, and what still cannot be read is counted.
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from diagtool.errors import UnreadableInput
from diagtool.readers.files import Losses, Progress, blocks
from diagtool.readers.kineto_labels import label_of
from diagtool.units import count_text

HEADER_KEYS = (
    "schemaVersion", "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "with_stack",
    "cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version",
)  # fmt: skip


class Complete(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """An event with a duration (``ph: X``). Numbers and arguments stay undecoded."""

    cat: str | None = None
    name: str = ""
    pid: int | str | None = None
    tid: int | str | None = None
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    args: msgspec.Raw = msgspec.Raw()


class Begin(msgspec.Struct, gc=False, tag_field="ph", tag="B"):
    """The first half of a begin and end pair, which no profiler of devices writes."""

    cat: str | None = None


# Every other phase is passed over: flows and counters are two events of five in some traces.
_OTHER = tuple(
    msgspec.defstruct(f"Phase{ord(phase)}", [], tag_field="ph", tag=phase, gc=False)
    for phase in "EiIRCMsftbneNODPVv()c"
)
_Event = Complete | Begin | _OTHER[0]
for _phase in _OTHER[1:]:
    _Event = _Event | _phase
_STRICT = msgspec.json.Decoder(list[_Event])  # type: ignore[valid-type]
_TOLERANT = json.JSONDecoder(strict=False, parse_float=Decimal, parse_constant=lambda _: None)
_ENCODE = msgspec.json.Encoder(decimal_format="number").encode
_Header = msgspec.defstruct("Header", [(key, Any, None) for key in HEADER_KEYS])

_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_BOUNDARY = re.compile(rb'\}\s*,\s*(?=\{\s*"ph")')
_ANY_BOUNDARY = re.compile(rb"\}\s*,\s*(?=\{)")
_SALVAGE_BOUNDARY = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|ts|pid|tid)")')
_NEXT_EVENT = re.compile(r'\}\s*,\s*(?=\{\s*"(?:name|cat|ts|pid|tid)")|\}?\s*,\s*(?=\{\s*"ph"\s*:)')
_QUOTED_NAME = re.compile(r'("name"\s*:\s*")(.*?)("\s*,\s*"(?:ph|cat|pid|tid|ts|dur|args|id)"\s*:|"\s*\})', re.DOTALL)
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_COMPLETE = "events of device or host work that are not complete ones (ph X)"
_BLANK = b"\xef\xbb\xbf \t\r\n\0"
_SEPARATORS = b" \t\r\n,\0"
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SKIPPED = re.compile(r"[ \t\r\n,\0]*")
_MAX_TAIL_BYTES = _MAX_EVENT_BYTES = 64 << 20
_WINDOW = 64 << 10
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
            start = max(len(text) - (64 << 10), 0)
            ends = [match.end() for match in pattern.finditer(text, start)] or [
                match.end() for match in pattern.finditer(text, min(self._searched, start), start + 64)
            ]
            for end in reversed(ends[-_TRIES:]):
                with memoryview(text)[: text.rindex(b"}", 0, end) + 1] as complete:
                    events = self._strict(b"".join((b"[", complete, b"]")))
                if events is not None:
                    self._searched = 0
                    return end, events
        self._searched = max(len(text) - (64 << 10), 0)
        return 0, None

    def _strict(self, text: bytes) -> list[Complete] | None:
        try:
            events: list[Any] = _STRICT.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        self.event_count += len(events)
        begun = sum(1 for event in events if type(event) is Begin and label_of(event.cat, "") is not None)
        self._losses.add(_NOT_COMPLETE, begun)
        return [event for event in events if type(event) is Complete]

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
        held_back = b""
        if not final:
            # The last event of a stretch may be cut anywhere, even inside a character: it waits for the next one.
            stop = max((match.end() for match in _SALVAGE_BOUNDARY.finditer(raw)), default=0)
            if not stop and len(raw) < _MAX_EVENT_BYTES:
                return [], bytes(raw), False
            raw, held_back = (raw[:stop], bytes(raw[stop:])) if stop else (raw, b"")
        text = self._decode_text(bytes(raw))
        events: list[Complete] = []
        position, ended = 0, False
        while True:
            position = _skip(text, position)
            if position >= len(text):
                break
            if text[position] == "]":
                ended, position = True, position + 1
                break
            if text[position] != "{":
                position = self._skip_rubbish(text, position)
                continue
            try:
                item, position = _decode_at(text, position)
            except (ValueError, RecursionError):
                item, position = self._repair(text, position)
            self.event_count += 1
            event = self._complete(item)
            if event is not None:
                events.append(event)
        return events, text[position:].encode() + held_back, ended

    def _decode_text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            text = raw.decode("utf-8", "replace")
            self._losses.mend("bytes that are not UTF-8, replaced", text.count("\ufffd") - raw.count("\ufffd".encode()))
            return text

    def _skip_rubbish(self, text: str, position: int) -> int:
        """Pass over something between events that is not one."""
        try:
            _, end = _decode_at(text, position)
        except (ValueError, RecursionError):
            found = _NEXT_EVENT.search(text, position)
            end = found.end() if found else len(text)
        self._losses.mend("entries between events that are none, passed over")
        return end

    def _repair(self, text: str, position: int) -> tuple[Any, int]:
        """An event the decoder refuses: mend its quotes and backslashes, or count it as lost."""
        found = _NEXT_EVENT.search(text, position)
        stop = found.start() + text.startswith("}", found.start()) if found else len(text)
        broken = text[position:stop]
        mended = _BAD_ESCAPE.sub(r"\\\\", _with_escaped_name(broken))
        try:
            item, length = _TOLERANT.raw_decode(mended)
        except (ValueError, RecursionError):
            self._losses.add("events that could not be read", 1, _excerpt(broken))
            return None, found.end() if found else len(text)
        self._losses.mend("events with unescaped quotes or backslashes, mended")
        return item, stop if found else position + len(broken) - (len(mended) - length)

    def _complete(self, item: Any) -> Complete | None:
        if not isinstance(item, dict):
            return None
        if item.get("ph") != "X":
            phase, its = item.get("ph"), item.get("cat")
            if (phase == "B" or not isinstance(phase, str)) and isinstance(its, str) and label_of(its, "") is not None:
                self._losses.add(_NOT_COMPLETE)
            return None
        name, args = item.get("name"), item.get("args")
        if not isinstance(name, str):
            self._losses.mend("events without a name, read without")
            name = "" if name is None else str(name)
        category = item.get("cat")
        return Complete(
            cat=_clean(category) if isinstance(category, str) else None,
            name=_clean(name),
            pid=_identity(item.get("pid")),
            tid=_identity(item.get("tid")),
            ts=_token(item.get("ts")),
            dur=_token(item.get("dur")),
            args=msgspec.Raw(_ENCODE(_encodable(args))) if isinstance(args, dict) else msgspec.Raw(),
        )

    def _keep_header(self, loose: bytes, closed: bytes) -> None:
        """Take the known keys of the text around the events; nothing else of it is ever looked at."""
        try:
            header = msgspec.json.decode(closed, type=_Header)
            found = {key: getattr(header, key) for key in HEADER_KEYS}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = _loose_header(loose.decode("utf-8", "replace"))
        self.header.update({key: _cleaned(value) for key, value in found.items() if value is not None})

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


def _decode_at(text: str, position: int) -> tuple[Any, int]:
    """The value that begins at ``position`` and where it ends. ValueError or RecursionError when it is broken.

    Python's decoder counts the lines before an error, so it is shown a window: a file with thousands of broken
    events would take hours otherwise. A value longer than that is decoded from the whole text.
    """
    window = text[position : position + _WINDOW]
    try:
        item, length = _TOLERANT.raw_decode(window)
    except ValueError:
        if len(window) < _WINDOW or _NEXT_EVENT.search(window):
            raise
        return _TOLERANT.raw_decode(text, position)
    return item, position + length


def _skip(text: str, position: int) -> int:
    found = _SKIPPED.match(text, position)
    return found.end() if found else position


def _depth(text: bytes) -> int:
    """How many braces and brackets are open at the end of some JSON."""
    bare = _STRING.sub(b"", text)
    return bare.count(b"{") + bare.count(b"[") - bare.count(b"}") - bare.count(b"]")


def _with_escaped_name(text: str) -> str:
    """The quotes inside the first name escaped; only so far as a name may reach, and tried once."""
    begin = text.find('"name"')
    found = _QUOTED_NAME.match(text, begin, begin + _WINDOW) if begin >= 0 else None
    return text[:begin] + _escape_inner_quotes(found) + text[found.end() :] if found else text


def _escape_inner_quotes(match: re.Match[str]) -> str:
    return match[1] + re.sub(r'(?<!\\)"', r"\"", match[2]) + match[3]


def _clean(text: str) -> str:
    """Lone surrogates cannot be written as UTF-8 later."""
    return _SURROGATE.sub("\ufffd", text)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return {_clean(key): _cleaned(item) for key, item in value.items()} if isinstance(value, dict) else value


def _identity(value: Any) -> int | str | None:
    if isinstance(value, str):
        return _clean(value)
    return value if isinstance(value, int) and abs(value) < 1 << 63 else None


def _token(value: Any) -> msgspec.Raw:
    """The number as text; empty for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal, str)):
        return msgspec.Raw()
    try:
        return msgspec.Raw(str(value).encode("ascii", "ignore"))
    except ValueError:  # an integer of thousands of digits
        return msgspec.Raw()


def _encodable(args: dict[str, Any]) -> dict[str, Any]:
    return {_clean(key): _plain(value) for key, value in args.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < 1 << 63 else None
    if isinstance(value, Decimal):
        return value if value.is_finite() and abs(value.adjusted()) < 300 else None
    if isinstance(value, list):
        return value if all(isinstance(item, int) and abs(item) < 1 << 63 for item in value) else None
    return value if value is None or isinstance(value, bool) else None


def _excerpt(text: str) -> str:
    """Enough of a broken event to find it, without its arguments: those may hold anything."""
    return " ".join(text.split('"args"')[0][:80].split())


def _loose_header(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in HEADER_KEYS:
        match = re.search(rf'"{key}"\s*:\s*', text)
        if match:
            try:
                found[key], _ = _decode_at(text, match.end())
            except (ValueError, RecursionError):
                continue
    return found
