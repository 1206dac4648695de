"""What a device event does, judged by its name: compute, communication, or a copy of some kind."""

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Collectives by any maker's name: NCCL, RCCL, HCCL, MSCCL; multimem and symmetric-memory kernels; one- and two-shot,
# custom and quick all-reduce; TRT-LLM and FlashInfer fusions; NVSHMEM and DeepEP.
COLLECTIVE = re.compile(
    r"nccl|rccl|hccl|msccl|nvshmem|deep_?ep|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|multimem|symm_?mem"
    r"|cross_device_reduce|quick_?reduce|one_?shot_|two_?shot_|internode|intranode",
    re.IGNORECASE,
)

_COPY_KINDS = (
    ("peer", re.compile(r"PtoP|PeerToPeer|P2P", re.IGNORECASE)),
    ("h2d", re.compile(r"HtoD|HostToDevice|H2D", re.IGNORECASE)),
    ("d2h", re.compile(r"DtoH|DeviceToHost|D2H", re.IGNORECASE)),
    ("d2d", re.compile(r"DtoD|DeviceToDevice|D2D", re.IGNORECASE)),
)
# In the order in which time is given to them where several run at once: copies over a bus first.
BUS_COPIES = ("h2d", "d2h", "peer")
COPY_KINDS = (*BUS_COPIES, "other", "d2d", "set")


def classify(device: pd.DataFrame) -> NDArray[Any]:
    """Class of each device row: compute, communication or one of COPY_KINDS; judged once per name."""
    names = [str(name) for name in device["name"].cat.categories]
    as_kernel = np.array(["communication" if COLLECTIVE.search(name) else "compute" for name in names] or [""])
    as_copy = np.array([_copy_kind(name) for name in names] or [""])
    codes = device["name"].cat.codes.to_numpy()
    kind = device["kind"].to_numpy()
    work = np.where(kind == "kernel", as_kernel[codes], np.where(kind == "copy", as_copy[codes], "set"))
    return work.astype(object)


def _copy_kind(name: str) -> str:
    return next((kind for kind, pattern in _COPY_KINDS if pattern.search(name)), "other")
