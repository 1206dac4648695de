"""The second, tolerant reading of trace events, one by one: mend what can be mended, count what is lost."""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from diagtool.readers.files import Losses
from diagtool.readers.trace_events import Complete, count_incomplete

_TOLERANT = json.JSONDecoder(strict=False, parse_float=Decimal, parse_constant=lambda _: None)
_ENCODE = msgspec.json.Encoder(decimal_format="number").encode

_BOUNDARY = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|name|cat|ts|pid|tid)")')
_NEXT_EVENT = re.compile(r'\}\s*,\s*(?=\{\s*"(?:name|cat|ts|pid|tid)")|\}?\s*,\s*(?=\{\s*"ph"\s*:)')
_QUOTED_NAME = re.compile(r'("name"\s*:\s*")(.*?)("\s*,\s*"(?:ph|cat|pid|tid|ts|dur|args|id)"\s*:|"\s*\})', re.DOTALL)
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_SURROGATE = re.compile("[\ud800-\udfff]")
_SKIPPED = re.compile(r"[ \t\r\n,\0]*")
_WINDOW = 64 << 10


class Salvaged(NamedTuple):
    """What was read, out of how many events, the unread rest, and whether the list of events had ended before it."""

    events: list[Complete]
    total: int
    rest: bytes
    ended: bool


def last_boundary(raw: bytes | bytearray) -> int:
    """Where the last event of a stretch begins: it may be cut anywhere, even inside a character. 0 for nowhere."""
    return max((match.end() for match in _BOUNDARY.finditer(raw)), default=0)


def salvage(raw: bytes, losses: Losses) -> Salvaged:
    """Read the inside of a list of events as far as it goes."""
    reader = _Reader(losses)
    return reader.read(reader.decode_text(raw))


def loose_values(text: str, keys: Sequence[str]) -> dict[str, Any]:
    """The values of some keys wherever they stand in broken JSON."""
    found: dict[str, Any] = {}
    for key in keys:
        match = re.search(rf'"{key}"\s*:\s*', text)
        if match:
            try:
                found[key], _ = _decode_at(text, match.end())
            except (ValueError, RecursionError):
                continue
    return found


def clean(value: Any) -> Any:
    """A JSON value without lone surrogates, which cannot be written as UTF-8 later."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [clean(item) for item in value]
    return {clean(key): clean(item) for key, item in value.items()} if isinstance(value, dict) else value


class _Reader:
    def __init__(self, losses: Losses) -> None:
        self._losses = losses

    def read(self, text: str) -> Salvaged:
        events: list[Complete] = []
        position, count, ended = 0, 0, False
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
            count += 1
            event = self._complete(item)
            if event is not None:
                events.append(event)
        return Salvaged(events, count, text[position:].encode(), ended)

    def decode_text(self, raw: bytes) -> str:
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
            phase, category = item.get("ph"), item.get("cat")
            if isinstance(category, str) and (phase == "B" or not isinstance(phase, str)):
                count_incomplete(category, self._losses)
            return None
        name, args = item.get("name"), item.get("args")
        if not isinstance(name, str):
            self._losses.mend("events without a name, read without")
            name = "" if name is None else str(name)
        category = item.get("cat")
        return Complete(
            cat=clean(category) if isinstance(category, str) else None,
            name=clean(name),
            pid=_identity(item.get("pid")),
            tid=_identity(item.get("tid")),
            ts=_token(item.get("ts")),
            dur=_token(item.get("dur")),
            args=msgspec.Raw(_ENCODE(_encodable(args))) if isinstance(args, dict) else msgspec.Raw(),
        )


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


def _with_escaped_name(text: str) -> str:
    """The quotes inside the first name escaped; only so far as a name may reach, and tried once."""
    begin = text.find('"name"')
    found = _QUOTED_NAME.match(text, begin, begin + _WINDOW) if begin >= 0 else None
    return text[:begin] + _escape_inner_quotes(found) + text[found.end() :] if found else text


def _escape_inner_quotes(match: re.Match[str]) -> str:
    return match[1] + re.sub(r'(?<!\\)"', r"\"", match[2]) + match[3]


def _identity(value: Any) -> int | str | None:
    if isinstance(value, str):
        return str(clean(value))
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
    return {clean(key): _plain(value) for key, value in args.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
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
