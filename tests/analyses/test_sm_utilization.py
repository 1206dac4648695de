"""SM utilization, occupancy and grids too small for the device; the GPU of the builders has 132 SMs."""

import numpy as np
import pytest
from builders import H100, kernel, launch, timeline
from hypothesis import given
from hypothesis import strategies as st

from diagtool import diagnose
from diagtool.analyses.sm_utilization import sm_activity
from diagtool.context import prepare
from diagtool.launch_shapes import shapes


def called(*kernels):
    """Kernels with their launches, all before the first."""
    for number, one in enumerate(kernels, 1):
        one["args"]["correlation"] = number
        yield launch(-100 + number, -99.5 + number, id=number)
        yield one


def value(found, name):
    return found.metric(name).value


def test_utilization_is_the_mean_share_of_sms_with_a_block(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(0, 40, grid=[66, 1, 1]), kernel(50, 60, grid=[1320, 1, 1])))
    assert value(found, "sm.utilization_fraction") == pytest.approx((40 * 0.5 + 10) / 60)
    assert found.metric("sm.utilization_fraction").method == "estimated"


def test_kernels_side_by_side_add_up_to_a_full_device(tmp_path):
    events = [kernel(0, 20, grid=[66, 1, 1]), kernel(10, 30, grid=[33, 1, 1], stream=8),
              kernel(10, 20, grid=[99, 1, 1], stream=9)]  # fmt: skip
    found = diagnose(timeline(tmp_path, *events))
    assert value(found, "sm.utilization_fraction") == pytest.approx((10 * 0.5 + 10 * 1.0 + 10 * 0.25) / 30)


def test_unknown_is_said_with_its_reason(tmp_path):
    bare = {"grid": None, "block": None, "registers per thread": None}
    found = diagnose(timeline(tmp_path, *called(kernel(0, 10, **bare))))
    assert found.metric("sm.utilization_fraction").reason == "missing: the launches do not state their grid"
    assert found.metric("occupancy.theoretical_fraction").reason.startswith("missing")
    found = diagnose(timeline(tmp_path, kernel(0, 10), deviceProperties=[]))
    assert "how many SMs" in found.metric("sm.utilization_fraction").reason
    assert "compute capability" in found.metric("occupancy.theoretical_fraction").reason
    found = diagnose(timeline(tmp_path, *called(kernel(0, 10)), deviceProperties=[H100 | {"warpSize": 64}]))
    assert found.metric("occupancy.theoretical_fraction").reason.startswith("unsupported")


def test_occupancy_is_weighed_by_time_over_kernels_with_a_launch(tmp_path):
    small = kernel(0, 30, block=[1024, 1, 1], grid=[1320, 1, 1], **{"registers per thread": 32, "shared memory": 0})
    large = kernel(
        40, 50, block=[384, 1, 1], grid=[66, 1, 1], **{"registers per thread": 168, "shared memory": 205_696}
    )
    orphan = kernel(60, 1000, block=[32, 1, 1], **{"registers per thread": 255})
    found = diagnose(timeline(tmp_path, *called(small, large), orphan))
    assert value(found, "occupancy.theoretical_fraction") == pytest.approx(0.75 * 1 + 0.25 * 12 / 64)
    assert value(found, "occupancy.grid_limited_fraction") == pytest.approx(0.75 * 1 + 0.25 * 12 / 64 / 2)


def test_more_than_48_kib_of_shared_memory_has_an_occupancy(tmp_path):
    built = timeline(tmp_path, kernel(0, 9, block=[384, 1, 1], **{"registers per thread": 168, "shared memory": 205_696,
                                                                 "est. achieved occupancy %": 0}))  # fmt: skip
    assert shapes(built).occupancy[0] == 12 / 64
    assert built.device["recorded_occupancy"][0] == 0


def test_a_launch_that_cannot_be_has_none(tmp_path):
    assert np.isnan(shapes(timeline(tmp_path, kernel(0, 9, block=[2048, 1, 1]))).occupancy).all()


def findings(found, cause):
    return [finding for finding in found.findings if finding.cause == cause]


def test_a_long_kernel_of_few_blocks_is_a_small_grid(tmp_path):
    found = diagnose(
        timeline(tmp_path, kernel(0, 80, name="nvjet", grid=[33, 1, 1]), kernel(80, 100, grid=[1320, 1, 1]))
    )
    (one,) = findings(found, "small-grid")
    assert (one.lost_s, one.lost_fraction, one.confidence) == (pytest.approx(60e-6), pytest.approx(0.6), "low")
    assert one.evidence[1].of == "33 blocks"


@pytest.mark.parametrize(
    "events",
    [
        [kernel(0, 9, grid=[1, 1, 1]), kernel(9, 18, grid=[1, 1, 1])],
        [kernel(0, 90, grid=[8, 1, 1], name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)")],
        [kernel(0, 90, grid=[66, 1, 1]), kernel(0, 90, grid=[66, 1, 1], stream=8)],
        [kernel(0, 90, grid=[132, 1, 1])],
    ],
    ids=["short", "collective", "side by side", "a block each"],
)
def test_few_blocks_that_cost_nothing_are_no_finding(tmp_path, events):
    assert findings(diagnose(timeline(tmp_path, *events)), "small-grid") == []


def test_few_warps_for_a_kernel_that_needs_them(tmp_path):
    shape = {"registers per thread": 255, "shared memory": 0, "grid": [13200, 1, 1], "block": [32, 1, 1]}
    norm = diagnose(timeline(tmp_path, kernel(0, 100, name="rms_norm_kernel", **shape)))
    (one,) = findings(norm, "low-occupancy")
    assert one.evidence[1].of == "12.5 %, by registers"
    assert one.lost_fraction == pytest.approx(0.75)
    for name in ("flash_fwd_kernel", "nvjet_tst_64x8"):  # these run at low occupancy on purpose
        assert findings(diagnose(timeline(tmp_path, kernel(0, 100, name=name, **shape))), "low-occupancy") == []


KERNELS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30), st.integers(1, 400)), min_size=1, max_size=12)


@given(given_kernels=KERNELS)
def test_the_curve_is_what_counting_each_microsecond_gives(tmp_path_factory, given_kernels):
    events = [kernel(start, start + length, grid=[blocks, 1, 1]) for start, length, blocks in given_kernels]
    built, context = prepare(timeline(tmp_path_factory.mktemp("sm"), *events))
    (window,) = context.windows
    activity = sm_activity(built, window, shapes(built).per_sm)
    first = min(start for start, _, _ in given_kernels)
    for at in range(0, 95):
        blocks = sum(b for start, length, b in given_kernels if start - first <= at < start - first + length)
        inside = (activity.starts <= at * 1000) & (at * 1000 < activity.ends)
        assert (activity.value[inside].tolist() or [0.0]) == [pytest.approx(min(blocks / 132, 1))]


def test_half_filled_warps_count_as_warps_in_both_occupancies(tmp_path):
    shape = {"block": [48, 1, 1], "grid": [100_000, 1, 1], "registers per thread": 16, "shared memory": 0}
    found = diagnose(timeline(tmp_path, *called(kernel(0, 10, **shape))))
    assert value(found, "occupancy.grid_limited_fraction") == value(found, "occupancy.theoretical_fraction") == 1


def test_a_last_wave_of_few_blocks_counts_for_products(tmp_path):
    shape = {"block": [256, 1, 1], "registers per thread": 128, "shared memory": 0, "grid": [297, 1, 1]}
    (one,) = findings(diagnose(timeline(tmp_path, kernel(0, 100, name="nvjet_tst_64x8", **shape))), "small-grid")
    assert one.evidence[1].of == "1.12 waves"
    assert one.lost_fraction == pytest.approx(1 - 297 / 264 / 2)
    assert findings(diagnose(timeline(tmp_path, kernel(0, 100, name="rms_norm_kernel", **shape))), "small-grid") == []
