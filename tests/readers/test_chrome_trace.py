"""Events from broken and unusual files: read, or counted as lost."""

import gzip
import json

import pytest
from builders import H100, kernel, launch, trace, write

from diagtool.errors import UnreadableInput
from diagtool.readers import files
from diagtool.readers.chrome_trace import ChromeTrace
from diagtool.readers.files import Losses
from diagtool.readers.trace_events import Complete, decode

EVENTS = [
    event
    for number in range(50)
    for event in (
        launch(number * 10, number * 10 + 4, id=number + 1),
        kernel(number * 10 + 6, number * 10 + 9, id=number + 1, name=f"k{number}"),
    )
]


def names(path):
    losses = Losses()
    reader = ChromeTrace(path, losses)
    events = [event for batch in reader.batches() for event in batch]
    return [event.name for event in events], losses.all(), reader, losses.notes()


def expected():
    return [event["name"] for event in EVENTS]


def saved(tmp_path, content: bytes, name="t.json"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def text(**header) -> bytes:
    return json.dumps(trace(*EVENTS, **header)).encode()


@pytest.mark.parametrize("name", ["t.json", "t.json.gz", "no-extension.gz"])
def test_whole_files_lose_nothing(tmp_path, name):
    found, lost, reader, _ = names(write(tmp_path / name, trace(*EVENTS, rank=3)))
    assert found == expected()
    assert lost == ()
    assert reader.event_count == len(EVENTS)
    assert reader.header["distributedInfo"]["rank"] == 3
    assert reader.header["deviceProperties"] == [H100]


@pytest.mark.parametrize("block", [256, 1000, 4096, 50_000])
def test_result_does_not_depend_on_the_size_of_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(files.blocks, "__defaults__", (None, block))
    for content in (text(), json.dumps(trace(*EVENTS), indent=2).encode(), json.dumps(EVENTS).encode()):
        found, lost, *_ = names(saved(tmp_path, content))
        assert found == expected()
        assert lost == ()


@pytest.mark.parametrize(
    "content",
    [
        b"[" + b",\n".join(json.dumps(event).encode() for event in EVENTS),  # Chrome allows the list to stay open
        json.dumps(EVENTS).encode(),
        b"\xef\xbb\xbf" + text(),
        text().replace(b'"traceEvents"', b'"traceEvents" \n ', 1),
        json.dumps({"traceEvents": EVENTS, "deviceProperties": [H100], "INFO": ["[a]", "}, {"]}).encode(),
    ],
    ids=["open list", "bare list", "byte order mark", "spaces", "events first"],
)
def test_other_layouts(request, tmp_path, content):
    found, lost, *_ = names(saved(tmp_path, content))
    assert found == expected()
    assert [loss.what for loss in lost] == (["file cut short"] if "open list" in request.node.name else [])


def test_header_behind_the_events_is_read(tmp_path):
    content = json.dumps({"traceEvents": EVENTS, "baseTimeNanoseconds": 7, "distributedInfo": {"rank": 2}}).encode()
    _, _, reader, _ = names(saved(tmp_path, content))
    assert reader.header == {"baseTimeNanoseconds": 7, "distributedInfo": {"rank": 2}}


def test_broken_tail_costs_nothing_but_itself(tmp_path):
    tail = b'\n], "WARNING": ["a" "b], "baseTimeNanoseconds": 12}'
    content = text()[: text().rindex(b"]")] + tail
    found, lost, reader, _ = names(saved(tmp_path, content))
    assert found == expected()
    assert lost == ()
    assert reader.header["baseTimeNanoseconds"] == 12


@pytest.mark.parametrize(
    "content",
    [
        text() + text(),
        gzip.compress(text(), mtime=0) + gzip.compress(text(), mtime=0),
        text(zzz=0)[:-1] + b', "traceEvents": [{}]}',
    ],
    ids=["two traces", "two gzipped traces", "two lists"],
)
def test_content_behind_the_events_is_said_to_be_unread(tmp_path, content):
    found, lost, *_ = names(saved(tmp_path, content))
    assert found == expected()
    assert [loss.what for loss in lost] == ["further content behind the list of events, not read"]


@pytest.mark.parametrize("inner", [[], EVENTS[:2]])
def test_a_list_of_events_inside_metadata_is_not_the_list(tmp_path, inner):
    content = json.dumps({"metadata": {"traceEvents": inner}} | trace(*EVENTS)).encode()
    assert names(saved(tmp_path, content))[0] == expected()


@pytest.mark.parametrize("change", [{"ph": "B"}, {"ph": None}, {"ph": 7}])
def test_device_work_that_is_not_complete_is_counted(tmp_path, change):
    found, lost, *_ = names(write(tmp_path / "t.json", trace(*EVENTS, kernel(0, 9) | change)))
    assert found == expected()
    assert [(loss.what, loss.count) for loss in lost] == [
        ("events of device or host work that are not complete ones (ph X)", 1)
    ]


def test_a_gzip_member_that_ends_one_byte_before_a_read(tmp_path):
    first = gzip.compress(text()[:2000], mtime=0)
    body = first[10:]
    for short in range(3):
        padding = b"x" * (files.BLOCK_BYTES // 8 - len(first) - 1 - short)
        padded = first[:3] + b"\x08" + first[4:10] + padding + b"\0" + body
        found, lost, *_ = names(saved(tmp_path, padded + gzip.compress(text()[2000:], mtime=0)))
        assert (found, lost) == (expected(), ())


def test_small_hostile_files_are_read_in_no_time(tmp_path):
    one = json.dumps(kernel(0, 1)).encode()
    found, lost, *_ = names(saved(tmp_path, b'{"traceEvents":[' + one + b', {"ph":"X",' + b'"name":"a\\q"x,' * 20_000))
    assert (found, [loss.count for loss in lost]) == (["gemm"], [1, 1])
    found, lost, *_ = names(saved(tmp_path, b'{"traceEvents":[' + one + b"," + b" " * 30_000_000 + one + b"]}"))
    assert (found, lost) == (["gemm", "gemm"], ())


def test_cut_json_keeps_every_whole_event(tmp_path):
    whole = text()
    for stop in range(whole.index(b"k20"), whole.index(b"k24"), 37):
        found, lost, *_ = names(saved(tmp_path, whole[:stop]))
        assert found == expected()[: len(found)]
        assert len(found) >= 41
        assert "file cut short" in {loss.what for loss in lost}


def test_cut_gzip_keeps_what_was_there(tmp_path):
    packed = gzip.compress(text() * 1, mtime=0)
    found, lost, *_ = names(saved(tmp_path, packed[: len(packed) * 3 // 4]))
    assert 0 < len(found) < len(EVENTS)
    assert found == expected()[: len(found)]
    assert "compressed data cut short" in {loss.what for loss in lost}


def test_damaged_gzip_keeps_what_came_before(tmp_path):
    for damage in (len(gzip.compress(text())) // 2, -6):
        packed = bytearray(gzip.compress(text(), mtime=0))
        packed[damage] ^= 0xFF
        found, lost, *_ = names(saved(tmp_path, bytes(packed)))
        assert found[:10] == expected()[:10]
        assert "compressed data damaged" in {loss.what for loss in lost}
    assert found == expected(), "a wrong checksum at the very end costs no event"


def test_gzip_members_one_after_the_other(tmp_path):
    half = len(text()) // 2
    found, lost, *_ = names(saved(tmp_path, gzip.compress(text()[:half]) + gzip.compress(text()[half:])))
    assert found == expected()
    assert lost == ()


BROKEN_NAMES = {
    "control characters": (b"k\n\x01\t7", "k\n\x01\t7", ()),
    "bytes that are not UTF-8": (b"k\xff7", "k\ufffd7", ("1 x bytes that are not UTF-8, replaced",)),
    "lone surrogate": (b"k\\ud8007", "k\ufffd7", ()),
    "unescaped quotes": (b'k["a"] 7', 'k["a"] 7', ("1 x events with unescaped quotes or backslashes, mended",)),
    "bad backslash": (b"k\\x7", "k\\x7", ("1 x events with unescaped quotes or backslashes, mended",)),
}


@pytest.mark.parametrize("kind", BROKEN_NAMES)
def test_a_broken_name_costs_no_event(tmp_path, kind):
    raw, read_as, notes = BROKEN_NAMES[kind]
    found, lost, _, noted = names(saved(tmp_path, text().replace(b'"k7"', b'"' + raw + b'"', 1)))
    assert found == [read_as if name == "k7" else name for name in expected()]
    assert lost == ()
    assert noted == notes


@pytest.mark.parametrize(
    "junk", [b"null", b"7", b'"text"', b"[1, 2]", b"{nonsense", b"{}", b'{"ph": 5}', b'{"ph": "X", "name": [}']
)
def test_junk_between_events_costs_no_event(tmp_path, junk):
    content = text().replace(
        b'{"ph": "X", "cat": "kernel", "name": "k7"', junk + b', {"ph": "X", "cat": "kernel", "name": "k7"', 1
    )
    found, *_ = names(saved(tmp_path, content))
    assert found == expected()


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"-Infinity", b"1e400"])
def test_numbers_that_json_does_not_have(tmp_path, value):
    found, *_ = names(
        saved(tmp_path, text().replace(b'"registers per thread": 96', b'"registers per thread": ' + value, 3))
    )
    assert found == expected()


def test_deep_nesting_is_survived(tmp_path):
    deep = b"[" * 100_000 + b"]" * 100_000
    content = text().replace(b'"context": 1', b'"context": ' + deep, 1)
    found, lost, *_ = names(saved(tmp_path, content))
    assert len(found) >= len(EVENTS) - 2
    assert sum(loss.count for loss in lost) >= 1


@pytest.mark.parametrize("content", [b"", b"   \n", b"\0\0\0", gzip.compress(b"", mtime=0)])
def test_empty_files_are_refused(tmp_path, content):
    with pytest.raises(UnreadableInput, match="empty"):
        names(saved(tmp_path, content))


def test_a_loss_never_quotes_arguments(tmp_path):
    secret = json.dumps(kernel(1, 2, token="hf_secret")).replace('"kernel"', "broken", 1).encode()
    _, lost, *_ = names(
        saved(
            tmp_path,
            text().replace(
                b'{"ph": "X", "cat": "kernel", "name": "k7"', secret + b', {"ph": "X", "cat": "kernel", "name": "k7"', 1
            ),
        )
    )
    assert lost
    assert "hf_secret" not in repr(lost)


def test_typed_and_tolerant_readings_agree(tmp_path, monkeypatch):
    path = write(tmp_path / "t.json", trace(*EVENTS))
    strict = [event for batch in ChromeTrace(path, Losses()).batches() for event in batch]
    monkeypatch.setattr(ChromeTrace, "_strict", lambda self, text: None)
    tolerant = [event for batch in ChromeTrace(path, Losses()).batches() for event in batch]
    assert [(e.cat, e.name, e.pid, e.tid, bytes(e.ts), bytes(e.dur)) for e in strict] == [
        (e.cat, e.name, e.pid, e.tid, bytes(e.ts), bytes(e.dur)) for e in tolerant
    ]
    assert [json.loads(bytes(e.args)) for e in strict] == [json.loads(bytes(e.args)) for e in tolerant]


def test_every_phase_of_the_format_is_known():
    for phase in "XBEiIRCMsftbneNODPVv()c":
        assert decode(json.dumps([{"ph": phase}]).encode(), Losses()) == ([Complete()] if phase == "X" else [], 1)
