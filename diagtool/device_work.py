"""What a device event does, judged by its name: compute, communication, or a copy of some kind."""

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagtool.kernel_classes import collective_family, kernel_class

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
    as_kernel = np.array(["communication" if collective_family(name) else "compute" for name in names] or [""])
    as_copy = np.array([_copy_kind(name) for name in names] or [""])
    codes = device["name"].cat.codes.to_numpy()
    kind = device["kind"].to_numpy()
    work = np.where(kind == "kernel", as_kernel[codes], np.where(kind == "copy", as_copy[codes], "set"))
    return work.astype(object)


def kernel_classes(device: pd.DataFrame) -> NDArray[np.str_]:
    """Kernel class of each device row, see kernel_classes.CLASSES; judged once per name."""
    classes = np.array([kernel_class(str(name)) for name in device["name"].cat.categories] or [""])
    return classes[device["name"].cat.codes.to_numpy()]


def _copy_kind(name: str) -> str:
    return next((kind for kind, pattern in _COPY_KINDS if pattern.search(name)), "other")
