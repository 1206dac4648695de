"""What this machine can measure, why not the rest, and the fix."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

OK, WARN, MISSING = "ok", "warn", "missing"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: its state, what was found and what to do about it."""

    name: str
    state: str
    found: str
    fix: str = ""


def examine() -> tuple[Check, ...]:
    """Every check, in the order of the report; none of them loads torch."""
    return tuple(check() for check in CHECKS)


def _reading() -> Check:
    return Check("read traces", OK, f"Python {sys.version_info.major}.{sys.version_info.minor}, {os.cpu_count()} cores")


def _package(name: str, distribution: str, purpose: str, fix: str) -> Check:
    if util.find_spec(name) is None:
        return Check(distribution, MISSING, f"not installed: {purpose}", fix)
    try:
        return Check(distribution, OK, metadata.version(distribution))
    except metadata.PackageNotFoundError:
        return Check(distribution, WARN, "installed, version unknown")


def _torch() -> Check:
    return _package("torch", "torch", "traces cannot be recorded here, reading them works", "pip install torch")


def _triton() -> Check:
    return _package("triton", "triton", "GPU kernels cannot be compiled here", "pip install triton")


def _nvtx() -> Check:
    return _package("nvtx", "nvtx", "ranges cannot be marked", "pip install nvtx")


def _gpu() -> Check:
    """The driver's own answer through NVML; a library that is missing or too old is an answer too."""
    try:
        import pynvml
    except ImportError:
        return Check("GPU", MISSING, "nvidia-ml-py is not installed: GPUs are not seen", "pip install nvidia-ml-py")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return Check("GPU", MISSING, f"NVML: {error}", "install the NVIDIA driver, or give the container its GPUs")
    try:
        names = [_text(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(index)))
                 for index in range(pynvml.nvmlDeviceGetCount())]  # fmt: skip
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError as error:
        return Check("GPU", WARN, f"NVML: {error}")
    finally:
        pynvml.nvmlShutdown()
    if not names:
        return Check("GPU", MISSING, f"driver {driver}, no device", "make the device visible to this container")
    return Check("GPU", OK, f"{', '.join(names)}; driver {driver}")


def _counters() -> Check:
    """Whether the driver lets ordinary users read hardware counters (ERR_NVGPUCTRPERM when not)."""
    path = Path("/proc/driver/nvidia/params")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Check("hardware counters", MISSING, "no NVIDIA driver on this machine", "run where the GPU is")
    if "RmProfilingAdminOnly: 1" in text and os.geteuid() != 0:
        return Check("hardware counters", WARN, "for administrators only",
                     "driver option NVreg_RestrictProfilingToAdminUsers=0, or run as root")  # fmt: skip
    return Check("hardware counters", OK, "open to this user")


def _nsight() -> Check:
    found = [tool for tool in ("nsys", "ncu") if shutil.which(tool)]
    if found:
        return Check("Nsight", OK, ", ".join(found))
    return Check("Nsight", MISSING, "neither nsys nor ncu on PATH", "install Nsight Systems and Nsight Compute")


def _memory_limit() -> Check:
    """The container's limit, which free memory of the machine does not show."""
    try:
        text = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return Check("memory limit", OK, "no container limit found")
    limit = "none" if text == "max" else f"{int(text) / 2**30:.1f} GiB" if text.isdigit() else text
    return Check("memory limit", OK, limit)


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


CHECKS: tuple[Callable[[], Check], ...] = (
    _reading, _torch, _triton, _nvtx, _gpu, _counters, _nsight, _memory_limit,
)  # fmt: skip
