"""Datasheet peaks: which names find which device, and that the figures agree with what is known otherwise."""

import math
import re
import sqlite3
from contextlib import closing

import pytest

from diagtool.hardware.peaks import _BY_NAME, _DEVICES, _SHARED_NAMES, DTYPES, given, peaks

ALL = [device for _, device in _DEVICES]


@pytest.mark.parametrize(
    ("reported", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM"), ("NVIDIA H100 PCIe", "H100 PCIe"), ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA H200", "H200 SXM"), ("NVIDIA GH200 480GB", "GH200 HBM3"), ("NVIDIA B200", "B200"),
        ("Tesla V100-SXM2-16GB", "V100 SXM2"), ("Tesla V100-PCIE-32GB", "V100 PCIe"), ("Tesla T4", "T4"),
        ("NVIDIA A100-SXM4-40GB", "A100 SXM 40GB"), ("A100-SXM4-80GB", "A100 SXM 80GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"), ("NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB"),
        ("NVIDIA A10", "A10"), ("NVIDIA A10G", "A10G"), ("NVIDIA L4", "L4"), ("NVIDIA L40", "L40"),
        ("NVIDIA L40S", "L40S"), ("NVIDIA GeForce RTX 4090", "RTX 4090"), ("GeForce RTX 3090", "RTX 3090"),
        ("NVIDIA RTX A6000", "RTX A6000"), ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("AMD Instinct MI300X", "MI300X"), ("AMD Instinct MI250X", "MI250X, one of two dies"),
        ("AMD Radeon RX 7900 XTX", "RX 7900 XTX"), ("  nvidia   l4 ", "L4"),
    ],
)  # fmt: skip
def test_names_as_drivers_report_them(reported, name):
    assert peaks(reported).name == name


@pytest.mark.parametrize(
    "reported",
    [
        "", "NVIDIA", "NVIDIA H100", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
        "NVIDIA A100X", "NVIDIA A100", "NVIDIA A100-PG509-200", "NVIDIA H800", "NVIDIA H20", "NVIDIA B200 NVL",
        "NVIDIA GeForce RTX 3080 Ti", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA GeForce RTX 4080 SUPER",
        "NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 2080 Ti",
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "Quadro RTX 6000", "GRID A100-10C", "NVIDIA A40-48Q",
        "Tesla V100-DGXS-32GB", "Tesla V100-SXM3-32GB", "AMD Instinct MI300X HF", "AMD Instinct MI250",
        "AMD Radeon Graphics", "cpu", "H100 SXM",
    ],
)  # fmt: skip
def test_no_other_name_is_guessed(reported):
    assert peaks(reported) is None
    assert peaks(reported, 132) is None


def test_slices_and_sister_models_are_told_by_their_multiprocessors():
    assert peaks("NVIDIA A100-SXM4-40GB", 108).bandwidth == 1555e9
    assert peaks("NVIDIA A100-SXM4-40GB", 14) is None
    assert peaks("AMD Instinct MI300X", 304) is not None
    assert peaks("AMD Instinct MI300X", 38) is None
    assert peaks("AMD Radeon RX 7900 XTX", 48) is not None  # HIP counts pairs of compute units
    for name, units, other in [
        ("NVIDIA GeForce RTX 3080", 68, 70),
        ("AMD Instinct MI300X VF", 304, 38),
        ("AMD Instinct MI250X/MI250", 110, 104),
    ]:
        assert peaks(name) is None
        assert peaks(name, other) is None
        assert peaks(name, units) is not None


@pytest.mark.parametrize("device", ALL, ids=lambda device: device.name)
def test_every_entry_has_a_source_and_possible_figures(device):
    assert device.source
    assert device.origin_of("bandwidth") == "datasheet"
    assert device.flops or device.bandwidth
    assert set(device.flops) <= set(DTYPES)
    numbers = [*device.flops.values(), device.bandwidth, device.link_bandwidth, device.cache_bytes, device.units]
    assert all(math.isfinite(number) and number > 0 for number in numbers if number is not None)
    if device.bandwidth is not None:
        assert 2e11 < device.bandwidth < 1e13
        assert device.link_bandwidth is None or device.link_bandwidth < device.bandwidth
    assert all(1e12 < rate < 2e16 for rate in device.flops.values())
    # Fewer bits are never slower: a rate with sparsity among dense ones would break the order.
    for order in (("fp32", "tf32", "bf16", "fp8", "fp4"), ("fp64", "fp16", "fp8"), ("bf16", "int8")):
        rates = [device.flops[name] for name in order if name in device.flops]
        assert rates == sorted(rates)
    if {"bf16", "fp8"} <= set(device.flops):
        assert device.flops["fp8"] == pytest.approx(2 * device.flops["bf16"], rel=0.02)


def test_no_two_entries_answer_to_one_name():
    assert len({device.name for device in ALL}) == len(ALL)
    assert sum(len(names) for names, _ in _DEVICES) == len(_BY_NAME)
    assert not _SHARED_NAMES - set(_BY_NAME)
    assert all(name == name.casefold().strip() for name in _BY_NAME)


@pytest.mark.parametrize(
    ("name", "megahertz", "bits"),
    [
        ("NVIDIA H100 80GB HBM3", 2619, 5120), ("NVIDIA H100 PCIe", 1593, 5120), ("NVIDIA H100 NVL", 2619, 6016),
        ("NVIDIA B200", 3996, 7680), ("NVIDIA A100-SXM4-40GB", 1215, 5120), ("NVIDIA A100-SXM4-80GB", 1593, 5120),
        ("NVIDIA A100 80GB PCIe", 1512, 5120), ("Tesla V100-SXM2-16GB", 877, 4096), ("Tesla T4", 5001, 256),
        ("NVIDIA A10G", 6251, 384), ("NVIDIA A40", 7251, 384), ("NVIDIA L4", 6251, 192), ("NVIDIA L40S", 9001, 384),
        ("NVIDIA GeForce RTX 3090", 9751, 384), ("NVIDIA GeForce RTX 4090", 10501, 384),
        ("NVIDIA GeForce RTX 5090", 14001, 512), ("NVIDIA RTX A6000", 8001, 384),
    ],
)  # fmt: skip
def test_bandwidth_is_that_of_the_memory_clock(name, megahertz, bits):
    assert peaks(name).bandwidth == pytest.approx(megahertz * 1e6 * 2 * bits / 8, rel=0.01)


@pytest.mark.parametrize(
    ("name", "gigahertz", "lanes"),
    [
        ("Tesla V100-SXM2-16GB", 1.53, 64), ("Tesla T4", 1.59, 64), ("NVIDIA A100-SXM4-40GB", 1.41, 64),
        ("NVIDIA A10", 1.695, 128), ("NVIDIA A40", 1.74, 128), ("NVIDIA L4", 2.04, 128), ("NVIDIA L40S", 2.52, 128),
        ("NVIDIA H100 80GB HBM3", 1.98, 128), ("NVIDIA H100 PCIe", 1.755, 128), ("NVIDIA H100 NVL", 1.785, 128),
        ("NVIDIA H200", 1.98, 128), ("NVIDIA GeForce RTX 3090", 1.695, 128), ("NVIDIA GeForce RTX 4080", 2.505, 128),
        ("NVIDIA GeForce RTX 4090", 2.52, 128), ("NVIDIA GeForce RTX 5090", 2.407, 128),
        ("NVIDIA RTX 6000 Ada Generation", 2.505, 128), ("NVIDIA RTX A6000", 1.8, 128),
        ("AMD Instinct MI300X", 2.1, 128), ("AMD Instinct MI355X", 2.4, 128), ("AMD Instinct MI350X", 2.2, 128),
    ],
)  # fmt: skip
def test_fp32_is_two_operations_per_lane_and_clock(name, gigahertz, lanes):
    device = peaks(name)
    assert device.flops["fp32"] == pytest.approx(2 * device.units * lanes * gigahertz * 1e9, rel=0.01)


def test_figures_that_everyone_knows():
    h100 = peaks("NVIDIA H100 80GB HBM3")
    assert (h100.bandwidth, h100.flops["bf16"], h100.cache_bytes) == (3.35e12, 989.4e12, 50 * 2**20)
    assert peaks("NVIDIA A100-SXM4-80GB").flops == {
        "fp64": 19.5e12, "fp32": 19.5e12, "tf32": 156e12, "bf16": 312e12, "fp16": 312e12, "int8": 624e12,
    }  # fmt: skip
    assert peaks("NVIDIA GeForce RTX 4090").flops["fp16"] == 165.2e12  # 330.3 accumulates in fp16
    assert peaks("NVIDIA B200").bandwidth == 7.7e12  # announced with 8
    assert peaks("NVIDIA B300 SXM6 AC").bandwidth is None
    assert "bf16" not in peaks("Tesla V100-SXM2-16GB").flops


def test_peaks_from_the_command_line():
    found = given("bandwidth=3.35e12, BF16=989e12")
    assert (found.bandwidth, found.flops, found.origin_of("bf16")) == (3.35e12, {"bf16": 989e12}, "given")
    assert found.source
    assert given("fp8=2e15").bandwidth is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not key=number"), ("bandwidth", "not key=number"), ("=3e12", "not key=number"),
        ("bandwidth=3e12,", "not key=number"), ("bandwith=3e12", "did you mean bandwidth?"),
        ("bf16=1e15,bf16=2e15", "given twice"), ("bandwidth=3.35TB/s", "not a number of bytes/s"),
        ("bandwidth=", "not a number"), ("bf16=989", "write 3.35e12 for 3.35 TFLOP/s"), ("bf16=-1e15", "plausible"),
        ("fp8=nan", "plausible"), ("fp8=inf", "plausible"), ("bandwidth=0", "plausible"),
    ],
)  # fmt: skip
def test_what_is_refused_on_the_command_line(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        given(text)


@pytest.mark.real_data
def test_names_of_real_drivers(traces):
    names = set()
    for path in (traces.parent / "nvidia" / "telegraf").glob("*.xml"):
        names.update(re.findall(r"<product_name>(.*?)</product_name>", path.read_text()))
    assert len(names) == 9
    assert {name: device.name for name in names if (device := peaks(name))} == {
        "NVIDIA A10G": "A10G",
        "NVIDIA A100-SXM4-80GB": "A100 SXM 80GB",
        "NVIDIA GeForce RTX 3090": "RTX 3090",
        "Tesla T4": "T4",
    }


@pytest.mark.real_data
def test_bandwidth_is_what_a_capture_says(traces):
    with closing(sqlite3.connect(f"file:{traces / 'nsys_ai' / 'mock.sqlite'}?mode=ro&immutable=1", uri=True)) as file:
        name, bandwidth, units = file.execute("select name, memoryBandwidth, smCount from TARGET_INFO_GPU").fetchone()
    assert peaks(name, units).bandwidth == pytest.approx(bandwidth, rel=0.001)
