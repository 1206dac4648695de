"""Tables as CSV and Parquet: the file's name is the table's."""

import sys

import pandas as pd
import pytest
from samples import GPU_SAMPLE

from diagtool import diagnose, read, reports
from diagtool.errors import OutputFailed, UsageError


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(read(GPU_SAMPLE))


def written(diagnosis, path):
    reports.write(diagnosis, reports.parse_outputs([str(path)]))
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_every_table_is_written_whole(tmp_path, diagnosis, extension):
    tables = [table for result in diagnosis.results for table in result.tables]
    assert len(tables) >= 6
    for table in tables:
        frame = written(diagnosis, tmp_path / f"{table.name}.{extension}")
        assert len(frame) == len(table.rows)
        assert len(frame.columns) == len(table.columns)


def test_columns_bear_their_unit_and_numbers_stay_numbers(tmp_path, diagnosis):
    frame = written(diagnosis, tmp_path / "kernels.csv")
    assert list(frame.columns[:6]) == ["kernel", "class", "calls", "time_s", "share_fraction", "median_s"]
    assert frame["share_fraction"].sum() == pytest.approx(1)
    assert frame["time_s"][0] == diagnosis.table("kernels").rows[0][3]


def test_a_file_named_after_no_table_is_refused(tmp_path, diagnosis):
    with pytest.raises(UsageError, match="no table 'kernel'") as error:
        written(diagnosis, tmp_path / "kernel.csv")
    assert "kernels" in error.value.hint


@pytest.mark.parametrize("output", ["csv:-", "parquet:-", "csv:kernels"])
def test_a_table_needs_a_file_with_its_name(output):
    with pytest.raises(UsageError, match="holds one table"):
        reports.parse_outputs([output])


def test_parquet_without_its_package_says_what_to_install(tmp_path, diagnosis, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OutputFailed) as error:
        written(diagnosis, tmp_path / "kernels.parquet")
    assert "pip install" in error.value.hint
