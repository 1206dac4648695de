"""Kernel time of every real trace by what its names say."""

import re

import numpy as np
import pytest
from conftest import reference_spans

from diagtool import read
from diagtool.kernel_classes import (
    collective_family,
    is_plain_core_matrix,
    kernel_class,
    normalised_name,
    short_name,
    uses_tensor_cores,
)

pytestmark = pytest.mark.real_data
FILES = tuple(reference_spans()) or ("none",)
SERVING = tuple(name for name in FILES if "/inference/" in name or "/b200/" in name)
# Any word of a collective anywhere in a name: enough for these files, whose other kernels have none of them.
WORDS = re.compile(
    r"nccl|rccl|hccl|msccl|nvshmem|deep_?ep|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|multimem|symm_?mem"
    r"|cross_device_reduce|quick_?reduce|one_?shot_|two_?shot_|internode|intranode",
    re.IGNORECASE,
)
# What cannot be told by name: a spinning kernel that only waits, stages of an accelerator's own scheduler, and kernels
# from before TorchInductor named them.
UNTOLD = {
    "hta/cuda_event_sync_a100.json.gz": 73.5,
    "hta/mtia_inference_rank0.json.gz": 100.0,
    "hta/cudagraph_a100_16rank_rank0.json.gz": 1.8,
}


def kernel_times(timeline):
    kernels = timeline.device[timeline.device["kind"] == "kernel"]
    spent = (kernels["end_ns"] - kernels["start_ns"]).groupby(kernels["name"].astype(str)).sum()
    return spent[spent.index != ""]


def percent(spent, chosen):
    return 100 * spent[np.array([chosen(name) for name in spent.index], bool)].sum() / spent.sum()


@pytest.mark.parametrize("name", FILES)
def test_little_is_unclassified(traces, name):
    spent = kernel_times(read(traces / name))
    assert percent(spent, lambda kernel: kernel_class(kernel) == "other") == pytest.approx(UNTOLD.get(name, 0), abs=0.1)


def test_serving_traces_are_classified(traces):
    assert len(SERVING) == 8
    for name in SERVING:
        assert percent(kernel_times(read(traces / name)), lambda kernel: kernel_class(kernel) == "other") < 5, name


def test_products_on_ordinary_cores(traces):
    spent = kernel_times(read(traces / "hta/alexnet_a100_cuda_sync.json.gz"))
    assert percent(spent, is_plain_core_matrix) == pytest.approx(43.9, abs=0.05)
    assert percent(spent, lambda kernel: uses_tensor_cores(kernel) is True) == pytest.approx(17.0, abs=0.05)


def test_all_reduce_through_multimem(traces):
    spent = kernel_times(read(traces / "tracelens/b200/eager_trace.json.gz"))
    assert percent(spent, lambda kernel: collective_family(kernel) == "multimem") == pytest.approx(19.5, abs=0.05)
    assert percent(spent, lambda kernel: kernel_class(kernel) == "MoE") == pytest.approx(54.4, abs=0.05)


def test_names_of_all_files(traces):
    for name in FILES:
        for kernel in kernel_times(read(traces / name)).index:
            assert (collective_family(kernel) is not None) == (WORDS.search(kernel) is not None), kernel
            assert 0 < len(short_name(kernel)) <= 60
            plain = normalised_name(kernel)
            assert normalised_name(plain) == plain
            assert kernel_class(plain) == kernel_class(kernel), kernel
