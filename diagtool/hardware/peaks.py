"""Peaks of known devices: memory bandwidth and arithmetic, as their vendors publish them.

Figures are those of one device as CUDA or HIP counts it, dense (without structured sparsity). Where a vendor states a
rate only with sparsity, half of it is used. A figure that no source confirms is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

from diagtool.units import nearest

DTYPES = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")
DATASHEET, GIVEN = "datasheet", "given"
# Anything below is TB/s or TFLOP/s typed for bytes/s or FLOP/s.
LEAST = 1e9

_KIB = 1024
_MIB = 1024 * _KIB
# Bytes/s of 16 lanes each way.
_PCIE3, _PCIE4, _PCIE5 = 16e9, 32e9, 64e9


@dataclass(frozen=True, slots=True)
class Peaks:
    """What a device can do at most; None or absent where it is not known.

    ``bandwidth`` of the device's memory and ``link_bandwidth`` to the host each way, bytes/s. ``flops`` by dtype of
    the inputs: FLOP/s (operations/s for int8), on matrix units where they are faster, accumulating in 32 bits where
    the vendor states both rates. ``cache_bytes``: the last-level cache. ``units``: multiprocessors or compute units.
    ``given``: dtypes, and ``bandwidth``, that the user stated; all else is the datasheet's.
    """

    name: str
    bandwidth: float | None
    flops: Mapping[str, float]
    source: str
    given: frozenset[str] = frozenset()
    cache_bytes: int | None = None
    link_bandwidth: float | None = None
    units: int | None = None

    def origin_of(self, key: str) -> str:
        """``given`` or ``datasheet``, for a dtype or ``bandwidth``."""
        return GIVEN if key in self.given else DATASHEET

    def overridden_by(self, other: "Peaks") -> "Peaks":
        """The same device with what the user stated of it in place of the datasheet's."""
        return replace(
            self, bandwidth=other.bandwidth or self.bandwidth, flops={**self.flops, **other.flops}, given=other.given
        )


def peaks(device_name: str, units: int | None = None) -> Peaks | None:
    """The datasheet's peaks of a device by the name its driver reports; None, never a guess, for any other name.

    ``units`` are the multiprocessors (compute units) the device reports. Where they are given and differ from the
    datasheet's the answer is None: slices of a device and sister models bear its name. Where two models share a name
    that is the only way to tell them, and without ``units`` the answer is None too.
    """
    name = _bare(device_name)
    found = _BY_NAME.get(name)
    if found is None or (units is None and name in _SHARED_NAMES):
        return None
    if units is not None and found.units is not None and units != found.units:
        return None
    return found


def given(text: str) -> Peaks:
    """Peaks from the command line: ``bandwidth=3.35e12,bf16=989e12``, bytes/s and FLOP/s.

    ValueError with a sentence for an unknown or repeated key and for anything but a plausible number.
    """
    numbers: dict[str, float] = {}
    for part in text.split(","):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        key = key.lower()
        if not sign or not key:
            raise ValueError(f"{part.strip()!r} is not key=number; write for example bandwidth=3.35e12,bf16=989e12")
        if key != "bandwidth" and key not in DTYPES:
            raise ValueError(f"{key!r} is no peak; {nearest(key, ('bandwidth', *DTYPES))}")
        if key in numbers:
            raise ValueError(f"{key} is given twice")
        numbers[key] = _plausible(key, value)
    bandwidth = numbers.pop("bandwidth", None)
    stated = frozenset((*numbers, *(["bandwidth"] if bandwidth else [])))
    return Peaks("as given", bandwidth, numbers, "command line", stated)


def _plausible(key: str, value: str) -> float:
    unit = "bytes/s" if key == "bandwidth" else "FLOP/s"
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"{key}={value} is not a number of {unit}, such as 3.35e12") from None
    if not isfinite(number) or number < LEAST:
        raise ValueError(f"{key}={value} is not a plausible number of {unit}: write 3.35e12 for 3.35 T{unit}")
    return number


def _bare(name: str) -> str:
    """A driver's name without case and without the maker's words, which come and go between driver versions."""
    words = name.casefold().split()
    while words and words[0] in ("nvidia", "amd", "tesla"):
        words.pop(0)
    return " ".join(words)


def _device(
    name: str, names: tuple[str, ...], source: str, gb_s: float | None, *, units: int | None = None,
    cache: int | None = None, link: float | None = None, **tera: float,
) -> tuple[tuple[str, ...], Peaks]:  # fmt: skip
    """An entry and its drivers' names: ``gb_s`` in 1e9 bytes/s and ``tera`` in 1e12 FLOP/s, a datasheet's units."""
    flops = {dtype: float(round(rate * 1e12)) for dtype, rate in tera.items()}
    bandwidth = None if gb_s is None else float(round(gb_s * 1e9))
    return names, Peaks(name, bandwidth, flops, source, frozenset(), cache, link, units)


_VOLTA = "NVIDIA V100 datasheet; L2: NVIDIA Tesla V100 GPU architecture whitepaper"
_A100 = "NVIDIA A100 Tensor Core GPU datasheet; L2: NVIDIA A100 architecture whitepaper"
_GA102 = "NVIDIA Ampere GA102 GPU architecture whitepaper"
_ADA = "NVIDIA Ada GPU architecture whitepaper"
_H100 = "NVIDIA H100 Tensor Core GPU architecture whitepaper"
_INSTINCT = "AMD Instinct {} data sheet; cache: ROCm GPU specifications"

_DEVICES: tuple[tuple[tuple[str, ...], Peaks], ...] = (
    _device("V100 SXM2", ("v100-sxm2-16gb", "v100-sxm2-32gb"), _VOLTA, 900, units=80, cache=6 * _MIB, link=_PCIE3,
            fp64=7.8, fp32=15.7, fp16=125),
    _device("V100 PCIe", ("v100-pcie-16gb", "v100-pcie-32gb"), _VOLTA, 900, units=80, cache=6 * _MIB, link=_PCIE3,
            fp64=7, fp32=14, fp16=112),
    _device("V100S PCIe", ("v100s-pcie-32gb",), _VOLTA, 1134, units=80, cache=6 * _MIB, link=_PCIE3,
            fp64=8.2, fp32=16.4, fp16=130),
    _device("T4", ("t4",), "NVIDIA T4 datasheet; memory: NVIDIA T4 product brief; L2: Turing architecture whitepaper",
            320, units=40, cache=4 * _MIB, link=_PCIE3, fp32=8.1, fp16=65, int8=130),
    _device("A10", ("a10",), "NVIDIA A10 datasheet; L2: " + _GA102, 600, units=72, cache=6 * _MIB, link=_PCIE4,
            fp32=31.2, tf32=62.5, bf16=125, fp16=125, int8=250),
    # Made for one cloud and without a datasheet: its driver reports 6251 MHz on a bus of 384 bits.
    _device("A10G", ("a10g",), "memory clock and bus width as the driver reports them", 600, units=80),
    _device("A30", ("a30",), "NVIDIA A30 datasheet", 933, units=56, link=_PCIE4,
            fp64=10.3, fp32=10.3, tf32=82, bf16=165, fp16=165, int8=330),
    _device("A40", ("a40",), "NVIDIA A40 datasheet; L2: " + _GA102, 696, units=84, cache=6 * _MIB, link=_PCIE4,
            fp32=37.4, tf32=74.8, bf16=149.7, fp16=149.7, int8=299.3),
    *(_device(name, (reported,), _A100, gb_s, units=108, cache=40 * _MIB, link=_PCIE4,
              fp64=19.5, fp32=19.5, tf32=156, bf16=312, fp16=312, int8=624)
      for name, reported, gb_s in (
          ("A100 SXM 40GB", "a100-sxm4-40gb", 1555), ("A100 SXM 80GB", "a100-sxm4-80gb", 2039),
          ("A100 PCIe 40GB", "a100-pcie-40gb", 1555), ("A100 PCIe 80GB", "a100 80gb pcie", 1935))),
    _device("L4", ("l4",), "NVIDIA L4 datasheet, half of the rates with sparsity", 300, units=58, link=_PCIE4,
            fp32=30.3, tf32=60, bf16=121, fp16=121, fp8=242.5, int8=242.5),
    _device("L40", ("l40",), "NVIDIA L40 datasheet", 864, units=142, link=_PCIE4,
            fp32=90.5, tf32=90.5, bf16=181.05, fp16=181.05, fp8=362, int8=362),
    _device("L40S", ("l40s",), "NVIDIA L40S datasheet", 864, units=142, link=_PCIE4,
            fp32=91.6, tf32=183, bf16=362.05, fp16=362.05, fp8=733, int8=733),
    _device("H100 SXM", ("h100 80gb hbm3",), _H100 + "; memory: NVIDIA H100 datasheet", 3350, units=132,
            cache=50 * _MIB, link=_PCIE5,
            fp64=66.9, fp32=66.9, tf32=494.7, bf16=989.4, fp16=989.4, fp8=1978.9, int8=1978.9),
    _device("H100 PCIe", ("h100 pcie",), _H100, 2039, units=114, cache=50 * _MIB, link=_PCIE5,
            fp64=51.2, fp32=51.2, tf32=378, bf16=756, fp16=756, fp8=1513, int8=1513),
    _device("H100 NVL", ("h100 nvl",), "NVIDIA H100 datasheet, half of the rates with sparsity", 3900, units=132,
            link=_PCIE5, fp64=60, fp32=60, tf32=417.5, bf16=835.5, fp16=835.5, fp8=1670.5, int8=1670.5),
    _device("H200 SXM", ("h200",), "NVIDIA H200 datasheet, half of the rates with sparsity; L2: as the driver reports",
            4800, units=132, cache=60 * _MIB, link=_PCIE5,
            fp64=67, fp32=67, tf32=494.5, bf16=989.5, fp16=989.5, fp8=1979, int8=1979),
    _device("H200 NVL", ("h200 nvl",), "NVIDIA H200 datasheet, half of the rates with sparsity", 4800, units=132,
            link=_PCIE5, fp64=60, fp32=60, tf32=417.5, bf16=835.5, fp16=835.5, fp8=1670.5, int8=1670.5),
    *(_device(name, (reported,), "NVIDIA GH200 Grace Hopper Superchip datasheet", gb_s, units=132, link=450e9,
              fp64=67, fp32=67, tf32=494, bf16=990, fp16=990, fp8=1979, int8=1979)
      for name, reported, gb_s in (
          ("GH200 HBM3", "gh200 480gb", 4000), ("GH200 HBM3e", "gh200 144g hbm3e", 4900))),
    _device("B200", ("b200",), "NVIDIA Blackwell architecture technical brief, HGX B200; L2: Blackwell tuning guide",
            7700, units=148, cache=126 * _MIB, link=_PCIE5,
            fp64=37, fp32=75, tf32=1125, bf16=2250, fp16=2250, fp8=4500, int8=4500, fp4=9000),
    _device("GB200", ("gb200",), "NVIDIA GB200 NVL72 datasheet, per GPU", 8000,
            fp64=40, fp32=80, tf32=1250, bf16=2500, fp16=2500, fp8=5000, int8=5000, fp4=10000),
    # The vendor's own papers put its memory at 7.7 and at 8 TB/s.
    _device("B300", ("b300 sxm6 ac",), "NVIDIA HGX B300 specifications, per GPU", None, units=148,
            fp32=75, tf32=1125, bf16=2250, fp16=2250, fp8=4500, fp4=13500),
    _device("RTX 3080 10GB", ("geforce rtx 3080",), _GA102, 760, units=68, cache=5 * _MIB, link=_PCIE4,
            fp32=29.8, tf32=29.8, bf16=59.5, fp16=59.5, int8=238),
    _device("RTX 3090", ("geforce rtx 3090",), _GA102, 936, units=82, cache=6 * _MIB, link=_PCIE4,
            fp32=35.6, tf32=35.6, bf16=71, fp16=71, int8=284),
    _device("RTX A6000", ("rtx a6000",), _GA102, 768, units=84, cache=6 * _MIB, link=_PCIE4,
            fp32=38.7, tf32=77.4, bf16=154.8, fp16=154.8, int8=309.7),
    _device("RTX 4080", ("geforce rtx 4080",), _ADA, 716.8, units=76, cache=64 * _MIB, link=_PCIE4,
            fp32=48.7, tf32=48.7, bf16=97.5, fp16=97.5, fp8=194.9, int8=389.9),
    _device("RTX 4090", ("geforce rtx 4090",), _ADA, 1008, units=128, cache=72 * _MIB, link=_PCIE4,
            fp32=82.6, tf32=82.6, bf16=165.2, fp16=165.2, fp8=330.3, int8=660.6),
    _device("RTX 6000 Ada", ("rtx 6000 ada generation",), "NVIDIA RTX PRO Blackwell GPU architecture whitepaper", 960,
            units=142, cache=96 * _MIB, link=_PCIE4,
            fp32=91.1, tf32=182.1, bf16=364.2, fp16=364.2, fp8=728.5, int8=728.5),
    _device("RTX 5090", ("geforce rtx 5090",), "NVIDIA RTX Blackwell GPU architecture whitepaper", 1792, units=170,
            cache=96 * _MIB, link=_PCIE5,
            fp32=104.8, tf32=104.8, bf16=209.5, fp16=209.5, fp8=419, int8=838, fp4=1676),
    _device("RTX PRO 6000 Blackwell Workstation", ("rtx pro 6000 blackwell workstation edition",),
            "NVIDIA RTX PRO Blackwell GPU architecture whitepaper; fp32, fp4: NVIDIA RTX PRO 6000 Blackwell datasheet",
            1792, units=188, cache=128 * _MIB, link=_PCIE5, fp32=125, bf16=503.8, fp16=503.8, fp4=2000),
    _device("RTX PRO 6000 Blackwell Server", ("rtx pro 6000 blackwell server edition",),
            "NVIDIA RTX PRO 6000 Blackwell Server Edition datasheet; L2: RTX PRO Blackwell whitepaper",
            1597, units=188, cache=128 * _MIB, link=_PCIE5),
    _device("MI100", ("instinct mi100",), "AMD Instinct MI100 brochure; cache: ROCm GPU specifications", 1228.8,
            units=120, cache=8 * _MIB, link=_PCIE4, fp64=11.5, fp32=46.1, bf16=92.3, fp16=184.6, int8=184.6),
    _device("MI210", ("instinct mi210",), "AMD Instinct MI210 brochure; cache: ROCm GPU specifications", 1638.4,
            units=104, cache=8 * _MIB, link=_PCIE4, fp64=45.3, fp32=45.3, bf16=181, fp16=181, int8=181),
    # The module holds two dies, and HIP counts each as a device.
    _device("MI250X, one of two dies", ("instinct mi250x", "instinct mi250x/mi250"),
            "AMD Instinct MI250X data sheet, half of the module; cache: ROCm GPU specifications", 1638.4,
            units=110, cache=8 * _MIB, fp64=47.85, fp32=47.85, bf16=191.5, fp16=191.5, int8=191.5),
    _device("MI300A", ("instinct mi300a",), _INSTINCT.format("MI300A"), 5300, units=228, cache=256 * _MIB,
            fp64=122.6, fp32=122.6, tf32=490.3, bf16=980.6, fp16=980.6, fp8=1961.2, int8=1961.2),
    *(_device(name, names, _INSTINCT.format(name), gb_s, units=304, cache=256 * _MIB, link=_PCIE5,
              fp64=163.4, fp32=163.4, tf32=653.7, bf16=1307.4, fp16=1307.4, fp8=2614.9, int8=2614.9)
      for name, names, gb_s in (
          ("MI300X", ("instinct mi300x", "instinct mi300x vf"), 5300), ("MI325X", ("instinct mi325x",), 6000))),
    _device("MI350X", ("instinct mi350x",), _INSTINCT.format("MI350X"), 8000, units=256, cache=256 * _MIB, link=_PCIE5,
            fp64=72.1, fp32=144.2, bf16=2300, fp16=2300, fp8=4600, int8=4600, fp4=9200),
    _device("MI355X", ("instinct mi355x",), _INSTINCT.format("MI355X"), 8000, units=256, cache=256 * _MIB, link=_PCIE5,
            fp64=78.6, fp32=157.3, bf16=2500, fp16=2500, fp8=5000, int8=5000, fp4=10100),
    _device("RX 7900 XTX", ("radeon rx 7900 xtx",), "AMD Radeon RX 7900 XTX specifications", 960, cache=96 * _MIB,
            link=_PCIE4, fp32=61.4, fp16=122.8),
)  # fmt: skip

# Borne by a second model too (the RTX 3080 with 12 GB, the MI250) or by the part of a device that a guest was lent.
_SHARED_NAMES = frozenset({"geforce rtx 3080", "instinct mi250x/mi250", "instinct mi300x vf"})
_BY_NAME: dict[str, Peaks] = {name: device for names, device in _DEVICES for name in names}
