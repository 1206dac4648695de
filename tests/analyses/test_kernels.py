"""Kernels by name and class, and matrix work on plain cores."""

import pytest
from builders import H100, copy, kernel, timeline

from diagtool import diagnose

NORM = "void vllm::rms_norm_kernel<float>(float*)"
SGEMM = "ampere_sgemm_128x64_tn"


def rows(diagnosis, name):
    table = diagnosis.table(name)
    return [dict(zip([column.name for column in table.columns], row, strict=True)) for row in table.rows]


def test_kernels_are_summed_by_name_costliest_first(tmp_path):
    found = diagnose(
        timeline(tmp_path, kernel(0, 10, name=NORM), kernel(20, 50, name="nvjet_tst_64x8_TNT"),
                 kernel(60, 64, name=NORM), copy(70, 99))
    )  # fmt: skip
    first, second = rows(found, "kernels")
    assert (first["kernel"], first["class"], first["calls"]) == ("nvjet_tst_64x8_TNT", "GEMM", 1)
    assert (second["class"], second["calls"], second["time"], second["median"]) == ("norm", 2, 14e-6, 7e-6)
    assert (first["share"], second["share"]) == (30 / 44, 14 / 44)
    assert found.metric("kernels.count").value == 3
    assert [(row["class"], row["calls"]) for row in rows(found, "kernel_classes")] == [("GEMM", 1), ("norm", 2)]


def test_occupancy_and_limiter_are_those_of_most_of_the_time(tmp_path):
    shape = {"block": [384, 1, 1], "registers per thread": 168, "shared memory": 205696}
    found = diagnose(timeline(tmp_path, kernel(0, 90, name="k", **shape), kernel(100, 110, name="k")))
    (row,) = rows(found, "kernels")
    assert row["limited by"] == "registers and shared memory"
    assert row["occupancy"] == pytest.approx(0.9 * 12 / 64 + 0.1 * 20 / 64)


def test_what_no_pattern_knows_is_unclassified(tmp_path):
    found = diagnose(timeline(tmp_path, kernel(0, 30, name="zzyzx"), kernel(30, 40, name=NORM)))
    assert found.metric("kernels.unclassified_fraction").value == 0.75


def test_a_kernel_counts_as_far_as_it_lies_in_the_window(tmp_path):
    from builders import step

    found = diagnose(
        timeline(tmp_path, step(10, 20), kernel(0, 15, name=NORM), kernel(18, 40, name=NORM)), window="steps"
    )
    assert rows(found, "kernels")[0]["time"] == pytest.approx(7e-6)


def plain_cores(found):
    return [finding for finding in found.findings if finding.cause == "no-tensor-cores"]


def test_matrix_work_on_plain_cores_costs_half_its_time(tmp_path):
    (found,) = plain_cores(diagnose(timeline(tmp_path, kernel(0, 60, name=SGEMM), kernel(60, 100, name=NORM))))
    assert (found.lost_s, found.lost_fraction) == (pytest.approx(30e-6), pytest.approx(0.3))
    assert found.evidence[0].value == 0.6
    assert "float32_matmul_precision" in found.fix[0].command


def test_the_fix_is_what_the_generation_can_do(tmp_path):
    volta = H100 | {"name": "Tesla V100-SXM2-16GB", "computeMajor": 7, "numSms": 80}
    (found,) = plain_cores(diagnose(timeline(tmp_path, kernel(0, 60, name=SGEMM), deviceProperties=[volta])))
    assert [fix.command for fix in found.fix] == ['torch.autocast("cuda", dtype=torch.float16)']


@pytest.mark.parametrize("change", [{"computeMajor": 6}, {"warpSize": 64}, {"computeMajor": None}])
def test_no_tensor_cores_no_finding(tmp_path, change):
    found = diagnose(timeline(tmp_path, kernel(0, 60, name=SGEMM), deviceProperties=[H100 | change]))
    assert plain_cores(found) == []


def test_a_large_share_of_little_kernel_time_is_noted(tmp_path):
    events = [kernel(0, 2, name=SGEMM), kernel(2, 5, name=NORM), kernel(10_000, 10_001, name=NORM)]
    (found,) = plain_cores(diagnose(timeline(tmp_path, *events)))
    assert (found.severity, found.evidence[0].value) == ("info", pytest.approx(2 / 6))
