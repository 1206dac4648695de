"""A Kineto trace of any size, the same bytes for the same size: what a decoding server leaves behind.

Layout and mix follow real traces of PyTorch 2: of 20 events 7 are operators, 5 runtime calls, 5 ends of flows, 2 work
on the device and 1 an allocation, with Python frames between them. Most steps are bound by their launches, every eighth
by its kernels. Nothing is kept in memory, so a trace of gigabytes costs only its place on the disk.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SEED = 1
OPERATORS_PER_STEP = 200
_PID, _TID = 783658, 785244
_STREAM, _NCCL_STREAM = 7, 20
_BASE_NS = 1_712_150_000_000_000_000
_WRITE_BYTES = 1 << 20
_TAIL_BYTES = 2048

_HEADER = f"""{{
  "schemaVersion": 1,
  "deviceProperties": [
    {{
      "id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85174583296,
      "computeMajor": 8, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "sharedMemPerMultiprocessor": 167936,
      "numSms": 108, "sharedMemPerBlockOptin": 166912
    }}
  ],
  "distributedInfo": {{"backend": "nccl", "rank": 0, "world_size": 2}},
  "with_stack": 1,
  "baseTimeNanoseconds": {_BASE_NS},
  "traceEvents": [
"""


class _Operator(NamedTuple):
    name: str
    inner: str
    kernel: str
    kernel_ns: int
    grid: int
    block: int
    registers: int
    shared: int


_ALL_REDUCE = _Operator(
    "c10d::allreduce_", "", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    14_000, 24, 544, 96, 42_024,
)  # fmt: skip
_ALL_REDUCE_ARGS = (
    ',\n      "Collective name": "allreduce", "In msg nelems": 131072, "Out msg nelems": 131072, "Group size": 2,'
    ' "dtype": "BFloat16", "Process Group Name": "0", "Process Group Description": "default_pg"'
)


def _operators() -> tuple[_Operator, ...]:
    """Operators of a transformer layer; matrix products come with a kernel for each shape of tile."""
    elementwise = (
        "void at::native::vectorized_elementwise_kernel<4, at::native::{0}<c10::BFloat16>, at::detail::Array<char*, 3>"
        " >(int, at::native::{0}<c10::BFloat16>, at::detail::Array<char*, 3>)"
    )
    products = [
        _Operator("aten::linear", "aten::addmm", f"ampere_bf16_s16816gemm_bf16_{m}x{n}_ldg8_f2f_stages_{k}x{s}_tn",
                  4_000 + 40 * m, 2 * m, 256, 128 + m // 4, m * n * s // 2)
        for m in (64, 128, 256) for n in (64, 128) for k in (32, 64) for s in (3, 4)
    ]  # fmt: skip
    others = [
        _Operator("aten::add", "aten::add_", elementwise.format("CUDAFunctor_add"), 2_100, 216, 128, 24, 0),
        _Operator("aten::mul", "aten::mul_", elementwise.format("BinaryFunctor_mul"), 2_300, 216, 128, 22, 0),
        _Operator("aten::silu", "aten::silu_", elementwise.format("silu_kernel"), 2_800, 432, 128, 26, 0),
        _Operator("aten::copy_", "aten::_to_copy", elementwise.format("bfloat16_copy_kernel"), 2_500, 432, 128, 20, 0),
        _Operator("aten::rms_norm", "aten::mean", "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, int)",
                  3_400, 64, 1024, 32, 4_096),
        _Operator("aten::index", "aten::gather", "void at::native::index_elementwise_kernel<128, 4, at::native::"
                  "gpu_index_kernel<at::native::index_kernel_impl> >(long)", 3_000, 64, 128, 40, 0),
        _Operator("vllm::rotary", "aten::view", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
                  2_600, 64, 512, 38, 0),
        _Operator("aten::scaled_dot_product_attention", "aten::_flash_attention_forward",
                  "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, "
                  "cutlass::bfloat16_t> >(Flash_fwd_params)", 9_500, 128, 128, 255, 81_920),
    ]  # fmt: skip
    mixed: list[_Operator] = []
    for index, product in enumerate(products):
        mixed += [product, others[(2 * index) % len(others)], others[(2 * index + 1) % len(others)]]
    return tuple(mixed)


class _Clock:
    """The host's time, the time each stream is free again, and the ids given so far."""

    def __init__(self) -> None:
        self.random = random.Random(SEED)
        self.host_ns = 1_428_625_731_516_983
        self.start_ns = self.host_ns
        self.free_ns = {_STREAM: self.host_ns, _NCCL_STREAM: self.host_ns}
        self.correlation = 3_000
        self.index = 0

    def about(self, ns: int) -> int:
        """A duration near ``ns``."""
        return int(ns * (0.6 + 0.8 * self.random.random()))

    def next_correlation(self) -> int:
        """A correlation id of its own."""
        self.correlation += 1
        return self.correlation

    def next_index(self) -> int:
        """The running number of an operator."""
        self.index += 1
        return self.index

    def place(self, stream: int, ready_ns: int, duration_ns: int) -> int:
        """Start of device work that may begin at ``ready_ns`` at the earliest."""
        start = max(self.free_ns[stream], ready_ns)
        self.free_ns[stream] = start + duration_ns
        return start


def write_trace(path: Path, size: int) -> None:
    """Write a trace of exactly ``size`` bytes; a file of that size is taken to be it. ValueError below 16 KiB."""
    if size < 16 << 10:
        raise ValueError(f"{size} bytes hold no trace")
    if path.exists() and path.stat().st_size == size:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("w", encoding="ascii", newline="\n", buffering=_WRITE_BYTES) as file:
        clock = _Clock()
        left = size - file.write(_HEADER)
        for piece in _pieces(clock):
            if len(piece) + _TAIL_BYTES > left:
                break
            left -= file.write(piece)
        tail, closing = _tail(clock)
        file.write(tail + " " * (left - len(tail) - len(closing)) + closing)
    unfinished.replace(path)


def _pieces(clock: _Clock) -> Iterator[str]:
    """The events, an operator and all that belongs to it at a time, without end."""
    operators = _operators()
    step = 0
    while True:
        step += 1
        prefill = step % 8 == 0
        begin = clock.host_ns - 1_000
        yield _copy(clock, "Memcpy HtoD (Pageable -> Device)", 65_536)
        for index in range(OPERATORS_PER_STEP):
            yield _operator(clock, operators[(index + step) % len(operators)], 10 if prefill else 1, index)
            if index % 50 == 49:
                yield _all_reduce(clock)
        yield _copy(clock, "Memcpy DtoH (Device -> Pageable)", 1_024)
        yield _synchronize(clock)
        yield _host("user_annotation", f"ProfilerStep#{step}", begin, clock.host_ns - begin, _operator_args(clock))
        clock.host_ns += clock.about(60_000)


def _operator(clock: _Clock, operator: _Operator, slower: int, index: int) -> str:
    begin = clock.host_ns
    inner = begin + clock.about(1_500)
    check = inner + clock.about(1_200)
    launch = check + clock.about(1_500)
    launched = launch + clock.about(3_200)
    done = launched + clock.about(700)
    correlation = clock.next_correlation()
    clock.host_ns = done + clock.about(1_000)
    kernel_ns = clock.about(operator.kernel_ns * slower)
    start = clock.place(_STREAM, launched + 800, kernel_ns)
    parts = [
        _host("cpu_op", operator.name, begin, done - begin, _operator_args(clock)),
        _host("cpu_op", operator.inner, inner, done - inner - 100, _operator_args(clock)),
        _host("cpu_op", "aten::as_strided", inner + 200, 400, _operator_args(clock)),
        _call(clock, "cudaStreamIsCapturing", check, 300, clock.next_correlation()),
        _call(clock, "cudaLaunchKernel", launch, launched - launch, correlation),
        _flow("s", correlation, _PID, _TID, launch),
        _kernel(operator, correlation, start, kernel_ns),
        _flow("f", correlation, 0, _STREAM, start),
    ]
    if index % 2:
        parts.insert(3, _allocation(clock, inner + 700))
    if index % 3 == 0:
        parts.insert(0, _python_frame(index, begin - 300, done - begin + 500))
    return "".join(parts)


def _all_reduce(clock: _Clock) -> str:
    begin = clock.host_ns
    launched = begin + clock.about(9_000)
    correlation = clock.next_correlation()
    clock.host_ns = launched + clock.about(2_000)
    duration = clock.about(_ALL_REDUCE.kernel_ns)
    start = clock.place(_NCCL_STREAM, max(launched + 800, clock.free_ns[_STREAM]), duration)
    clock.free_ns[_STREAM] = clock.free_ns[_NCCL_STREAM]
    return "".join((
        _host("cpu_op", _ALL_REDUCE.name, begin, launched - begin, _operator_args(clock)),
        _call(clock, "cudaLaunchKernelExC", launched - 3_000, 2_900, correlation),
        _flow("s", correlation, _PID, _TID, launched - 3_000),
        _kernel(_ALL_REDUCE, correlation, start, duration, _NCCL_STREAM, _ALL_REDUCE_ARGS),
        _flow("f", correlation, 0, _NCCL_STREAM, start),
    ))  # fmt: skip


def _copy(clock: _Clock, name: str, size: int) -> str:
    begin = clock.host_ns
    length = clock.about(5_000)
    correlation = clock.next_correlation()
    clock.host_ns = begin + length + 1_000
    duration = clock.about(3_000)
    start = clock.place(_STREAM, begin + length, duration)
    args = (
        f'"External id": {correlation},\n      "device": 0, "context": 1,\n      "stream": {_STREAM}, "correlation":'
        f' {correlation},\n      "bytes": {size}, "memory bandwidth (GB/s)": {size / duration}'
    )
    return "".join((
        _host("cpu_op", "aten::copy_", begin - 500, length + 900, _operator_args(clock)),
        _call(clock, "cudaMemcpyAsync", begin, length, correlation),
        _flow("s", correlation, _PID, _TID, begin),
        _event("gpu_memcpy", name, 0, _STREAM, start, duration, args),
        _flow("f", correlation, 0, _STREAM, start),
    ))  # fmt: skip


def _synchronize(clock: _Clock) -> str:
    begin = clock.host_ns
    clock.host_ns = max(begin, *clock.free_ns.values()) + clock.about(4_000)
    return _call(clock, "cudaStreamSynchronize", begin, clock.host_ns - begin, clock.next_correlation())


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def _event(category: str, name: str, pid: int, tid: int, start: int, duration: int, args: str) -> str:
    return (
        f'  {{\n    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid},\n'
        f'    "ts": {_us(start)}, "dur": {_us(duration)},\n    "args": {{\n      {args}\n    }}\n  }},\n'
    )


def _host(category: str, name: str, start: int, duration: int, args: str) -> str:
    return _event(category, name, _PID, _TID, start, duration, args)


def _operator_args(clock: _Clock) -> str:
    index = clock.next_index()
    return f'"External id": {index},"Ev Idx": {index}'


def _call(clock: _Clock, name: str, start: int, duration: int, correlation: int) -> str:
    return _host(
        "cuda_runtime",
        name,
        start,
        duration,
        f'"External id": {clock.index},\n      "cbid": 211, "correlation": {correlation}',
    )


def _flow(phase: str, correlation: int, pid: int, tid: int, start: int) -> str:
    end = ', "bp": "e"' if phase == "f" else ""
    return (
        f'  {{\n    "ph": "{phase}", "id": {correlation}, "pid": {pid}, "tid": {tid}, "ts": {_us(start)},\n'
        f'    "cat": "ac2g", "name": "ac2g"{end}\n  }},\n'
    )


def _kernel(
    kernel: _Operator, correlation: int, start: int, duration: int, stream: int = _STREAM, more: str = ""
) -> str:
    args = (
        f'"External id": {correlation},\n      "queued": 0, "device": 0, "context": 1,\n'
        f'      "stream": {stream}, "correlation": {correlation},\n'
        f'      "registers per thread": {kernel.registers},\n      "shared memory": {kernel.shared},\n'
        f'      "blocks per SM": {kernel.grid / 108:.6f},\n'
        f'      "warps per SM": {kernel.grid * kernel.block / 32 / 108:.6f},\n'
        f'      "grid": [{kernel.grid}, 1, 1],\n      "block": [{kernel.block}, 1, 1],\n'
        f'      "est. achieved occupancy %": {min(kernel.grid * kernel.block * 100 // (108 * 2048), 100)}{more}'
    )
    return _event("kernel", kernel.kernel, 0, stream, start, duration, args)


def _allocation(clock: _Clock, time: int) -> str:
    size = 512 << clock.index % 12
    return (
        '  {\n    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",\n'
        f'    "pid": {_PID}, "tid": {_TID},\n    "ts": {_us(time)},\n    "args": {{\n'
        f'      "Ev Idx": {clock.next_index()}, "Device Type": 1, "Device Id": 0, "Addr": 139926520725504,'
        f' "Bytes": {size}, "Total Allocated": {5435638784 + size}, "Total Reserved": 12782141440\n    }}\n  }},\n'
    )


def _python_frame(index: int, start: int, duration: int) -> str:
    args = f'"Python parent id": {index}, "Python id": {index + 1}, "Python module id": {index % 32}'
    return _host("python_function", f"nn.Module: DecoderLayer_{index % 32}", start, duration, args)


def _tail(clock: _Clock) -> tuple[str, str]:
    """The profiler's own span, then the end of the object; blanks may stand between the two."""
    end = max(clock.host_ns, *clock.free_ns.values()) + 100_000
    span = (
        f'  {{\n    "ph": "X", "cat": "Trace", "ts": {_us(clock.start_ns - 50_000)},'
        f' "dur": {_us(end - clock.start_ns + 50_000)},\n    "pid": "Spans", "tid": "PyTorch Profiler",\n'
        '    "name": "PyTorch Profiler (0)",\n    "args": {\n      "Op count": 0\n    }\n  },\n'
        '  {\n    "name": "Record Window End", "ph": "i", "s": "g",\n'
        f'    "pid": "", "tid": "", "ts": {_us(end)}\n  }}\n  ],\n'
    )
    return span, '  "traceName": "trace_rank_0.json"\n}\n'
