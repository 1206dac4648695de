"""Every format has a sample that only it claims, and every foreign file a sentence."""

import gzip
import json

import pytest
from builders import kernel, trace
from samples import CPU_SAMPLE, GPU_SAMPLE

from diagtool import diagnose, read
from diagtool.diagnosis import to_json
from diagtool.errors import UnreadableInput, UnsupportedFormat
from diagtool.readers import FORMATS, find_format, foreign
from diagtool.readers.files import head

SAMPLES = {"kineto": [GPU_SAMPLE, CPU_SAMPLE]}


@pytest.mark.parametrize("candidate", FORMATS, ids=lambda candidate: candidate.name)
def test_every_format_has_samples_that_only_it_claims(candidate, tmp_path):
    for sample in SAMPLES[candidate.name]:
        assert [other.name for other in FORMATS if other.sniff(head(sample))] == [candidate.name]
        assert not any(known.sniff(head(sample)) for known in foreign.FOREIGN[:-1])
        unnamed = tmp_path / "unknown"
        unnamed.write_bytes(sample.read_bytes())
        assert find_format(unnamed) is candidate
        assert to_json(diagnose(read(unnamed))).replace(str(unnamed), str(sample)) == to_json(diagnose(read(sample)))


FOREIGN_FILES = {
    "a Chakra execution trace": json.dumps({"schema": "1.0.2", "pid": 1, "nodes": [{"id": 1}]}).encode(),
    "a PyTorch memory timeline": json.dumps([[1, 2, 3], [4, 5]]).encode(),
    "an rocprofv3 result": json.dumps({"rocprofiler-sdk-tool": [{}]}).encode(),
    "a Proton profile": json.dumps([{"children": [], "frame": {"name": "ROOT"}}]).encode(),
    "an Nsight Systems SQLite export": b"SQLite format 3\0" + bytes(200),
    "an Nsight Compute report": b"NVR\0" + bytes(50),
    "a pickle, perhaps a PyTorch allocator snapshot": b"\x80\x04\x95" + bytes(50),
    "a zip archive": b"PK\x03\x04" + bytes(50),
    "a diagnosis": b'{"schema": 1, "source": {"format": "kineto"}}',
    "an HTML page": b"<!DOCTYPE html><html></html>",
    "a metrics page": b"# HELP vllm:num_requests_running x\n# TYPE vllm:num_requests_running gauge\n",
    "JSON without traceEvents": json.dumps({"hello": 1}).encode(),
    "not a PyTorch profiler trace": b"hello, world",
}


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
@pytest.mark.parametrize("title", FOREIGN_FILES)
def test_foreign_files_are_named_and_refused(tmp_path, title, pack):
    path = tmp_path / "file"
    path.write_bytes(pack(FOREIGN_FILES[title]))
    with pytest.raises(UnsupportedFormat) as caught:
        read(path)
    assert title in caught.value.message
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_every_foreign_format_is_tried():
    titles = [
        next(known.title for known in foreign.FOREIGN if known.sniff(text))
        for text in list(FOREIGN_FILES.values())[:-1]
    ]
    assert set(titles) == {known.title for known in foreign.FOREIGN}


def test_empty_file(tmp_path):
    path = tmp_path / "e.json"
    path.touch()
    with pytest.raises(UnreadableInput, match="the file is empty"):
        read(path)


def test_unreadable_path(tmp_path):
    with pytest.raises(UnreadableInput, match="No such file"):
        read(tmp_path / "absent.json")


def test_events_key_far_into_the_file(tmp_path):
    data = {"metadata": {"x": "y" * 5_000_000}} | trace(kernel(0, 1), kernel(3, 4))
    path = tmp_path / "late.json"
    path.write_text(json.dumps(data))
    assert len(read(path).device) == 2
