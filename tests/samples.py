"""The sample traces under tests/data: a made GPU trace, and a CPU trace that torch recorded.

``make samples`` writes both. The GPU trace is a function of this file alone; the CPU trace is a recording, so it
differs each time and is rewritten only when someone asks.
"""

import gzip
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from builders import H100, Event, annotation, call, copy, decode_mark, kernel, op, recording, sync, trace, write

DATA = Path(__file__).parent / "data"
GPU_SAMPLE = DATA / "decode_eager.json.gz"
CPU_SAMPLE = DATA / "cpu_only.json.gz"

STEPS, LAYERS = 4, 16
LAYER = (
    ("aten::rms_norm", "void rms_norm_kernel<c10::BFloat16>", 2.1),
    ("aten::linear", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 5.4),
    ("rotary_embedding", "void rotary_embedding_kernel<c10::BFloat16, true>", 1.9),
    ("paged_attention", "void paged_attention_v2_kernel<__nv_bfloat16, 128, 16>", 9.7),
    ("aten::linear", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 4.8),
    ("all_reduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 11.0),
    ("aten::linear", "nvjet_tst_128x8_64x12_2x1_v_bz_TNT", 8.9),
    ("silu_and_mul", "void act_and_mul_kernel<c10::BFloat16, silu>", 2.0),
    ("aten::linear", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 6.3),
)


def decode_eager() -> Iterator[Event]:
    """Four decode steps of a small model on one GPU, launched kernel by kernel from Python."""
    noise = random.Random(20)
    host, device, id = 1000.0, 0.0, 0
    begin = host
    for number in range(STEPS):
        first = host
        host += 140.0  # the scheduler
        id += 1
        yield call(host, host + 6.1, id, "cudaMemcpyAsync")
        device = max(device, host + 9.0)
        yield copy(device, device + 3.2, id, bytes=16384)
        device += 3.2
        host += 20.0
        for _ in range(LAYERS):
            for name, function, length in LAYER:
                id += 1
                took = round(noise.uniform(14.0, 22.0), 3)
                yield op(host, round(host + took, 3), name)
                start = round(host + took - 6.4, 3)
                yield call(start, round(start + 4.9, 3), id)
                device = round(max(device, start + noise.uniform(6.5, 7.5)), 3)
                yield kernel(device, round(device + length, 3), id, function)
                device = round(device + length, 3)
                host = round(host + took + 1.5, 3)
        id += 1
        yield op(host, round(device + 12.0, 3), "aten::item")
        yield sync(round(host + 2.0, 3), round(device + 8.0, 3), id)
        host = round(device + 15.0, 3)
        yield annotation(first, host, decode_mark(8 + number, (8 + number) * 512))
    yield recording(begin - 50.0, host + 200.0)


def gpu_trace() -> dict[str, object]:
    """The GPU sample as data."""
    return trace(
        *decode_eager(),
        deviceProperties=[H100],
        cuda_runtime_version=12080,
        displayTimeUnit="ms",
        baseTimeNanoseconds=1_767_189_312_000_000_000,
    )


def record_cpu() -> None:
    """Record a small attention block with torch's profiler on this machine's CPU."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
    tokens = torch.randn(2, 32, 64)
    with torch.inference_mode(), profile(activities=[ProfilerActivity.CPU]) as recorder:
        layer(tokens)
        layer(tokens)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cpu.json"
        recorder.export_chrome_trace(str(path))
        CPU_SAMPLE.write_bytes(gzip.compress(anonymous(path.read_bytes()), mtime=0))


def anonymous(text: bytes) -> bytes:
    """A recorded trace without what names the machine it was recorded on; the layout stays."""
    text = re.sub(rb'\s*"(?:host_name|trace_id)": "[^"]*",', b"", text)
    return re.sub(rb'"traceName": "[^"]*"', b'"traceName": "cpu.json"', text)


if __name__ == "__main__":
    write(GPU_SAMPLE, gpu_trace())
    record_cpu()
