"""Occupancy of every kernel, recomputed from its launch: profilers write 0 where shared memory exceeds 48 KiB.

Registers, shared memory, threads and the compute capability decide how many blocks fit on an SM at once, see
hardware/occupancy.py. Launches repeat, so each distinct one is worked out once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diagtool.diagnosis import Device
from diagtool.hardware.occupancy import Occupancy, occupancy
from diagtool.timeline import Timeline

_NVIDIA_WARP = 32
_NONE = -1
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class LaunchShapes:
    """Per row of ``device``, NaN where it cannot be known.

    ``occupancy``: theoretical, a share of the SM's warps. ``grid_limited``: the same, where the grid has fewer blocks
    than would fit. ``blocks``: of the grid. ``per_sm``: blocks / SMs. ``waves``: blocks / (SMs * blocks that fit).
    ``limiter``: index into ``limiters``, or -1.
    """

    occupancy: Floats
    grid_limited: Floats
    blocks: Floats
    per_sm: Floats
    waves: Floats
    limiter: NDArray[np.int64]
    limiters: tuple[str, ...]


def shapes(timeline: Timeline) -> LaunchShapes:
    """The launch shapes of all rows; copies and sets have none."""
    frame = timeline.device
    count = len(frame)
    blocks, threads = _floats(frame["blocks"]), _floats(frame["threads"])
    sms = np.full(count, np.nan)
    theoretical, fitting, capacity = (np.full(count, np.nan) for _ in range(3))
    limiter, limiters = np.full(count, _NONE, np.int64), dict[str, int]()
    for device, rows in _rows_by_device(timeline):
        sms[rows] = device.sms or np.nan
        for one, members in _distinct_launches(timeline, device, rows):
            theoretical[members] = one.fraction
            fitting[members] = one.blocks
            capacity[members] = one.max_warps
            limiter[members] = limiters.setdefault(" and ".join(one.limited_by), len(limiters))
    per_sm = blocks / sms
    with np.errstate(divide="ignore", invalid="ignore"):
        waves = np.where(fitting > 0, per_sm / fitting, np.nan)
        grid_limited = np.minimum(fitting, per_sm) * np.ceil(threads / _NVIDIA_WARP) / capacity
    return LaunchShapes(theoretical, grid_limited, blocks, per_sm, waves, limiter, tuple(limiters))


def _rows_by_device(timeline: Timeline) -> Iterator[tuple[Device, NDArray[np.int64]]]:
    kernel = timeline.device["kind"].to_numpy() == "kernel"
    rank, index = timeline.device["rank"].to_numpy(), timeline.device["device"].to_numpy()
    for device in timeline.devices:
        yield device, np.flatnonzero(kernel & (rank == device.rank) & (index == device.index))


def _distinct_launches(
    timeline: Timeline, device: Device, rows: NDArray[np.int64]
) -> Iterator[tuple[Occupancy, NDArray[np.int64]]]:
    """Each distinct launch whose occupancy the rules give, and the rows that have it."""
    if device.compute_capability is None or device.warp_size not in (None, _NVIDIA_WARP):
        return  # the rules are NVIDIA's; who states registers and no warp size is CUDA's profiler of old
    frame = timeline.device
    columns = [_floats(frame[name])[rows] for name in ("threads", "registers", "static_smem", "dynamic_smem")]
    columns[2] = np.nan_to_num(columns[2])
    launches = np.stack(columns, axis=1)
    known = np.isfinite(launches).all(axis=1) & (launches[:, 0] > 0)
    rows, launches = rows[known], launches[known].astype(np.int64)
    order = np.lexsort(launches.T)
    rows, launches = rows[order], launches[order]
    if not len(rows):
        return
    first = np.flatnonzero(np.concatenate(([True], (np.diff(launches, axis=0) != 0).any(axis=1))))
    for at, members in zip(first, np.split(rows, first[1:]), strict=False):
        threads, registers, static, dynamic = map(int, launches[at])
        found = occupancy(device.compute_capability, threads, registers, static, dynamic)
        if found is not None and found.blocks > 0:
            yield found, members


def _floats(column: Any) -> Floats:
    values: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values
