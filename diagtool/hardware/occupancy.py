"""Theoretical occupancy of a kernel launch, from the rules of its compute capability.

A multiprocessor (SM) holds as many blocks at once as its warps, registers, shared memory and barriers allow. The
rules are facts of the hardware, published in the CUDA programming guide and in NVIDIA's occupancy header; this is an
implementation of its own, checked against that header and against what Nsight Compute prints.
"""

from collections.abc import Mapping
from dataclasses import dataclass

K = 1024

WARP = 32
THREADS_PER_BLOCK = 1024
REGISTERS_PER_THREAD = 255
REGISTERS_PER_BLOCK = 64 * K
PARTITIONS = 4
REGISTERS_PER_PARTITION = 16 * K
REGISTER_UNIT = 256  # a warp is given registers in multiples of this


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits of one SM: counts, and bytes of shared memory.

    ``reserved`` bytes per block are the driver's and come out of ``shared_memory``; ``optin`` is the most that a block
    can ask for beside them. Shared memory is given in multiples of ``unit``. The SM has ``barriers_per_block`` times
    ``blocks`` named barriers; 0 where barriers set no limit.
    """

    threads: int
    warps: int
    blocks: int
    shared_memory: int
    optin: int
    reserved: int
    unit: int
    barriers_per_block: int


RULES: dict[str, Rules] = {
    #           threads warps blocks  shared    opt-in   reserved unit barriers
    "7.0":  Rules(2048,   64,    32,  96 * K,   96 * K,      0,   256,   0),
    "7.5":  Rules(1024,   32,    16,  64 * K,   64 * K,      0,   256,   0),
    "8.0":  Rules(2048,   64,    32, 164 * K,  163 * K,      K,   128,   0),
    "8.6":  Rules(1536,   48,    16, 100 * K,   99 * K,      K,   128,   0),
    "8.7":  Rules(1536,   48,    16, 164 * K,  163 * K,      K,   128,   0),
    "8.9":  Rules(1536,   48,    24, 100 * K,   99 * K,      K,   128,   0),
    "9.0":  Rules(2048,   64,    32, 228 * K,  227 * K,      K,   128,   2),
    "10.0": Rules(2048,   64,    32, 228 * K,  227 * K,      K,   128,   2),
    "10.3": Rules(2048,   64,    32, 228 * K,  227 * K,      K,   128,   1),
    "11.0": Rules(1536,   48,    24, 228 * K,  227 * K,      K,   128,   1),
    "12.0": Rules(1536,   48,    24, 100 * K,   99 * K,      K,   128,   1),
    "12.1": Rules(1536,   48,    24, 100 * K,   99 * K,      K,   128,   1),
}  # fmt: skip


# Numbers of SMs that parts of one compute capability alone have (A100; H100 and H200; B200; RTX 4090, L40; A40, A6000;
# RTX 5090, RTX PRO 6000). Others, such as the 80 of the V100 and of the RTX 4080 SUPER, tell nothing.
_BY_SMS = {108: "8.0", 114: "9.0", 132: "9.0", 148: "10.0", 128: "8.9", 142: "8.9", 84: "8.6", 170: "12.0", 188: "12.0"}


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many blocks of a launch one SM holds, and what allows no more.

    ``limits``: blocks that each resource alone would allow, None where it sets no limit; ``max_warps`` of the SM.
    """

    blocks: int
    warps: int
    max_warps: int
    limits: Mapping[str, int | None]

    @property
    def fraction(self) -> float:
        """Resident warps as a share of the most the SM can hold."""
        return self.warps / self.max_warps

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources whose limit is the one that holds; more than one where they tie."""
        return tuple(name for name, limit in self.limits.items() if limit == self.blocks)


def compute_capability_of(sms: int | None) -> str | None:
    """The compute capability of an NVIDIA device by its number of SMs, where no other has as many; else None."""
    return _BY_SMS.get(sms or 0)


def occupancy(
    compute_capability: str,
    threads: int,
    registers: int,
    static_smem: int = 0,
    dynamic_smem: int = 0,
    barriers: int = 0,
    carveout: int | None = None,
) -> Occupancy | None:
    """Theoretical occupancy: blocks of this shape that one SM holds at once; definitions "Occupancy".

    ``threads`` and ``barriers`` per block, ``registers`` per thread, shared memory per block and ``carveout`` in bytes.
    ``carveout`` is the shared memory that the driver set up on the SM, where it was recorded; without it the largest
    is taken. 0 registers or barriers mean that the number is not known and set no limit. None for a compute capability
    without rules. ValueError for fewer than one thread or a negative number. 0 blocks mean that the launch would fail.

    Source: the formula of NVIDIA's occupancy calculator; equal to it on 396 launches of 11 compute capabilities.
    Traps: it is an upper bound for a launch in clusters, whose blocks must fit together; a kernel is taken to have
    opted in to more than 48 KiB of shared memory; Nsight Compute prints the limit of shared memory for the driver's
    carveout and no higher than the blocks of an SM, here it is neither unless asked for.
    """
    if threads <= 0:
        raise ValueError(f"a block has at least one thread, not {threads}")
    numbers = {"registers": registers, "static_smem": static_smem, "dynamic_smem": dynamic_smem,
               "barriers": barriers, "carveout": carveout or 0}  # fmt: skip
    for name, number in numbers.items():
        if number < 0:
            raise ValueError(f"{name} cannot be negative: {number}")
    rules = RULES.get(compute_capability)
    if rules is None:
        return None
    warps = -(-threads // WARP)
    limits = {
        "warps": rules.warps // warps if threads <= THREADS_PER_BLOCK else 0,
        "blocks": rules.blocks,
        "registers": _by_registers(warps, registers),
        "shared memory": _by_shared_memory(rules, static_smem + dynamic_smem, carveout),
        "barriers": _by_barriers(rules, barriers),
    }
    blocks = min(limit for limit in limits.values() if limit is not None)
    return Occupancy(blocks, blocks * warps, rules.warps, limits)


def _by_registers(warps: int, registers: int) -> int | None:
    if registers == 0:
        return None
    per_warp = _round_up(registers * WARP, REGISTER_UNIT)
    # A block is spread over the partitions, so the check of its size counts its warps in fours, and a partition's
    # registers are divided among whole warps before the warps are divided among blocks.
    if registers > REGISTERS_PER_THREAD or per_warp * _round_up(warps, PARTITIONS) > REGISTERS_PER_BLOCK:
        return 0
    return REGISTERS_PER_PARTITION // per_warp * PARTITIONS // warps


def _by_shared_memory(rules: Rules, wanted: int, carveout: int | None) -> int | None:
    if wanted > rules.optin:
        return 0
    given = _round_up(wanted + rules.reserved, rules.unit)
    return (rules.shared_memory if carveout is None else carveout) // given if given else None


def _by_barriers(rules: Rules, barriers: int) -> int | None:
    return rules.barriers_per_block * rules.blocks // barriers if barriers and rules.barriers_per_block else None


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
