"""Events of a Chrome trace as types, decoded strictly: one wrong type or byte and a whole batch is refused."""

from typing import Any

import msgspec

from diagtool.readers.files import Losses
from diagtool.readers.kineto_labels import label_of


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

_NOT_COMPLETE = "events of device or host work that are not complete ones (ph X)"


def decode(text: bytes, losses: Losses) -> tuple[list[Complete], int] | None:
    """The complete events of a JSON list, and how many events it holds; None when it cannot be decoded as it is."""
    try:
        events: list[Any] = _STRICT.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    for event in events:
        if type(event) is Begin:
            count_incomplete(event.cat, losses)
    return [event for event in events if type(event) is Complete], len(events)


def count_incomplete(category: str | None, losses: Losses) -> None:
    """Count an event that is not a complete one as lost where its category is one of device or host work."""
    if label_of(category, "") is not None:
        losses.add(_NOT_COMPLETE)
