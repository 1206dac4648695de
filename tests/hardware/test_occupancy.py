"""The rules of an SM, against NVIDIA's header, Nsight Compute and what Kineto wrote."""

import csv

import pytest

from diagtool.hardware.occupancy import RULES, compute_capability_of, occupancy

SHAPE = ("threads_per_block", "registers_per_thread", "static_smem", "dynamic_smem")
LIMITS = ("warps", "blocks", "registers", "shared_mem", "barriers")


def rows(traces, name):
    with (traces.parent / "nvidia" / "occupancy" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def shape(row, *more):
    return row["cc"], *(int(row[name]) for name in (*SHAPE, *more))


@pytest.mark.parametrize(
    ("launch", "blocks", "warps", "limits", "limited_by"),
    [
        # threads, registers, static and dynamic shared memory, barriers
        (("9.0", 256, 67), 3, 24, (8, 32, 3, 228, None), ("registers",)),
        (("9.0", 128, 32, 0, 7168, 1), 16, 64, (16, 32, 16, 28, 64), ("warps", "registers")),
        (("8.0", 128, 32, 0, 7168), 16, 64, (16, 32, 16, 20, None), ("warps", "registers")),
        (("8.0", 128, 32, 0, 65536), 2, 8, (16, 32, 16, 2, None), ("shared memory",)),
        (("7.5", 1024, 49), 1, 32, (1, 16, 1, None, None), ("warps", "registers")),
        (("8.9", 32, 16), 24, 24, (48, 24, 128, 100, None), ("blocks",)),
        (("9.0", 384, 168, 0, 232448), 1, 12, (5, 32, 1, 1, None), ("registers", "shared memory")),
    ],
)  # fmt: skip
def test_launches(launch, blocks, warps, limits, limited_by):
    found = occupancy(*launch)
    assert (found.blocks, found.warps, tuple(found.limits.values())) == (blocks, warps, limits)
    assert found.limited_by == limited_by
    assert found.fraction == warps / RULES[launch[0]].warps


@pytest.mark.parametrize(
    ("launch", "blocks"),
    [
        (("8.0", 1024, 65), 0),  # 32 warps of 4,608 registers
        (("9.0", 320, 200), 0),  # ten warps fit, the twelve that the partitions count do not
        (("8.0", 416, 48), 3),  # registers are divided within a partition first
        (("9.0", 128, 255), 2),
        (("9.0", 128, 256), 0),
        (("9.0", 1025, 16), 0),
        (("9.0", 384, 168, 0, 232449), 0),  # one byte more than a block can have
        (("9.0", 384, 168, 1024, 231424), 1),  # static and dynamic count together
        (("9.0", 128, 32, 0, 0, 16), 4),
        (("8.0", 128, 32, 0, 0, 16), 16),  # barriers set no limit before 9.0
        (("10.3", 128, 32, 0, 0, 16), 2),
        (("7.0", 64, 0), 32),  # registers not known
    ],
)
def test_extremes(launch, blocks):
    assert occupancy(*launch).blocks == blocks


def test_what_the_driver_reserves_counts_against_the_carveout():
    one_block = occupancy("8.0", 128, 32, dynamic_smem=7169, carveout=32768)
    assert one_block.limits["shared memory"] == 32768 // 8320
    assert occupancy("9.0", 1024, 31, 12288).limits["shared memory"] == 17
    assert occupancy("9.0", 1024, 31, 12288, carveout=32768).limits["shared memory"] == 2
    assert occupancy("7.0", 192, 20, carveout=0).blocks == 10


def test_more_of_anything_never_fits_more_blocks():
    for cc in RULES:
        for threads in (32, 96, 256, 1024):
            by_registers = [occupancy(cc, threads, registers).blocks for registers in range(1, 257)]
            by_smem = [occupancy(cc, threads, 32, 0, smem).blocks for smem in range(0, 240_000, 997)]
            assert by_registers == sorted(by_registers, reverse=True)
            assert by_smem == sorted(by_smem, reverse=True)
            assert 0 <= max(by_registers + by_smem) * threads <= RULES[cc].threads


def test_unknown_device_and_impossible_numbers():
    assert occupancy("6.1", 256, 32) is None
    assert occupancy("", 256, 32) is None
    for bad in ({"threads": 0}, {"threads": -32}, {"registers": -1}, {"static_smem": -1}, {"dynamic_smem": -1},
                {"barriers": -1}, {"carveout": -1}):  # fmt: skip
        with pytest.raises(ValueError, match=r"-|0"):
            occupancy(**{"compute_capability": "9.0", "threads": 256, "registers": 32} | bad)


def test_a_number_of_sms_tells_the_generation_where_no_other_has_it():
    assert compute_capability_of(108) == "8.0"
    assert compute_capability_of(80) is None, "V100 and RTX 4080 SUPER"
    assert compute_capability_of(None) is None


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "count"), [("cuda_occupancy_h_reference.csv", 396), ("nsys_h100_kernels.csv", 33)]
)  # fmt: skip
def test_equal_to_the_header_in_every_row(traces, name, count):
    reference = rows(traces, name)
    assert len(reference) == count
    for row in reference:
        found = occupancy(*shape(row, "barriers"))
        expected = [None if row[f"limit_{name}"] == "-1" else int(row[f"limit_{name}"]) for name in LIMITS]
        assert list(found.limits.values()) == expected, row
        numbers = (found.blocks, found.warps, found.max_warps)
        assert numbers == tuple(int(row[key]) for key in ("active_blocks", "active_warps", "max_warps")), row
        assert found.fraction == pytest.approx(float(row["occupancy"]), abs=1e-6)


@pytest.mark.real_data
def test_equal_to_what_nsight_compute_prints(traces):
    measured = rows(traces, "measured_ncu.csv")
    assert len(measured) == 10
    for row in measured:
        found = occupancy(*shape(row), carveout=int(row["smem_config_size"]))
        assert found.warps == int(row["theoretical_active_warps"]), row
        assert 100 * found.fraction == pytest.approx(float(row["theoretical_occupancy_pct"]), abs=0.005)
        assert occupancy(*shape(row)).warps == found.warps
        most = found.limits["blocks"]
        assert most == int(row["block_limit_sm"])
        assert found.limits["warps"] == int(row["block_limit_warps"])
        assert found.limits["registers"] == int(row["block_limit_registers"])
        # Where shared memory sets no limit it prints the blocks of an SM.
        smem = found.limits["shared memory"]
        printed = int(row["block_limit_shared_mem"])
        assert printed == (most if smem is None else smem), row
