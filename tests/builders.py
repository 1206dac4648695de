"""Kineto traces for tests, event by event: ``trace(launch(0, 2, id=1), kernel(9, 12, id=1))``.

Times are microseconds, as in the files. Every function returns plain data, so a test can bend it before it is written.
"""

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from diagtool.readers import read
from diagtool.timeline import Timeline

Event = dict[str, Any]

H100 = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_017_755_648, "computeMajor": 9,
        "computeMinor": 0, "numSms": 132, "warpSize": 32}  # fmt: skip
PROCESS, THREAD, STREAM = 4000, 4000, 7


def event(category: str, name: str, start: float, end: float, **fields: Any) -> Event:
    """A complete event."""
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": PROCESS,
        "tid": THREAD,
        "ts": start,
        "dur": end - start,
    } | fields


def op(start: float, end: float, name: str = "aten::mm", **fields: Any) -> Event:
    """An operator on a CPU thread."""
    return event("cpu_op", name, start, end, **fields)


def python(start: float, end: float, name: str = "model.py(12): forward", **fields: Any) -> Event:
    """A recorded Python call."""
    return event("python_function", name, start, end, **fields)


def annotation(start: float, end: float, name: str, **fields: Any) -> Event:
    """A user annotation, such as a step mark."""
    return event("user_annotation", name, start, end, **fields)


def step(start: float, end: float, number: int = 1) -> Event:
    """A step mark of the profiler."""
    return annotation(start, end, f"ProfilerStep#{number}")


def decode_mark(requests: int, context: int) -> str:
    """What vLLM calls a step that decodes a token for each of some requests, with all their context tokens."""
    decode = f"sq{requests}sk{context}sqsq{requests}sqsk{context}"
    return f"execute_{requests}_context_0(sq0sk0sqsq0sqsk0)_generation_{requests}({decode})"


def call(start: float, end: float, id: int, name: str = "cudaLaunchKernel", **fields: Any) -> Event:
    """A runtime call with a correlation id."""
    return event("cuda_runtime", name, start, end, args={"correlation": id, "External id": id}, **fields)


launch = call


def sync(start: float, end: float, id: int = 900, name: str = "cudaStreamSynchronize", **fields: Any) -> Event:
    """A blocking call."""
    return call(start, end, id, name, **fields)


def kernel(
    start: float, end: float, id: int = 0, name: str = "gemm", device: int = 0, stream: int = STREAM, **args: Any
) -> Event:
    """A kernel; ``args`` join its arguments."""
    given = {
        "device": device, "context": 1, "stream": stream, "correlation": id, "grid": [132, 1, 1],
        "block": [128, 1, 1], "registers per thread": 96, "shared memory": 32768, "est. achieved occupancy %": 31,
    } | args  # fmt: skip
    return event("kernel", name, start, end, pid=device, tid=stream, args=given)


def copy(
    start: float,
    end: float,
    id: int = 0,
    name: str = "Memcpy HtoD (Pinned -> Device)",
    device: int = 0,
    stream: int = STREAM,
    bytes: int = 4096,
) -> Event:
    """A copy between memories."""
    args = {"device": device, "context": 1, "stream": stream, "correlation": id, "bytes": bytes}
    return event("gpu_memcpy", name, start, end, pid=device, tid=stream, args=args)


def memset(start: float, end: float, id: int = 0, device: int = 0, stream: int = STREAM) -> Event:
    """A set of device memory."""
    args = {"device": device, "context": 1, "stream": stream, "correlation": id, "bytes": 512}
    return event("gpu_memset", "Memset (Device)", start, end, pid=device, tid=stream, args=args)


def recording(start: float, end: float) -> Event:
    """The span in which the profiler recorded."""
    return event("Trace", "PyTorch Profiler (0)", start, end, pid="Spans", tid="PyTorch Profiler")


def trace(*events: Event, rank: int | None = None, **header: Any) -> dict[str, Any]:
    """A whole trace file as data."""
    data: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [H100]}
    if rank is not None:
        data["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 8}
    return data | {"traceEvents": list(events), "traceName": "trace.json"} | header


def write(path: Path, data: Mapping[str, Any]) -> Path:
    """Write a trace in the layout of the profiler; gzipped, and without a time stamp, when the name ends in .gz."""
    lines = ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in data.items() if key != "traceEvents")
    events = ",\n".join(f"  {json.dumps(item)}" for item in data["traceEvents"])
    text = f'{{\n{lines},\n  "traceEvents": [\n{events}\n  ]\n}}\n'.encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path


def timeline(path: Path, *events: Event, **header: Any) -> Timeline:
    """The timeline of a trace, through the file and the reader as a user's would go."""
    return read(write(path / "trace.json", trace(*events, **header)))


def healthy(steps: int = 30) -> Iterable[Event]:
    """Launches far ahead of a device that is busy for 1 ms at a time without a gap."""
    for number in range(steps):
        yield launch(number * 10, number * 10 + 4, id=number + 1)
        yield kernel(100 + number * 1000, 1100 + number * 1000, id=number + 1)
