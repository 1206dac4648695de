"""Timeline: built checked, never changed."""

import pandas as pd
import pytest

from diagtool.diagnosis import Loss, Source
from diagtool.timeline import COLUMNS, Timeline, merge

SOURCE = Source("test", files=("a.json",))


def device(**columns):
    return Timeline.build(SOURCE, {"device": columns})


def test_every_table_exists_with_its_columns_and_types():
    empty = Timeline.build(SOURCE)
    for name, frame in empty.frames().items():
        assert {column: str(dtype) for column, dtype in frame.dtypes.items()} == COLUMNS[name]
        assert len(frame) == 0


def test_unknown_ids_are_minus_one_and_unknown_values_missing():
    row = device(start_ns=[5], end_ns=[9], name=["k"]).device.iloc[0]
    assert (row["stream"], row["correlation"]) == (-1, -1)
    assert row["bytes"] is pd.NA
    assert row["recorded_occupancy"] is pd.NA


def test_rows_are_sorted_by_time_and_keep_the_order_of_equals():
    built = device(start_ns=[7, 3, 3], end_ns=[8, 4, 5], name=["c", "a", "b"])
    assert built.device["name"].tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"devices": {}}, "no such table: devices"),
        ({"device": {"start": [1]}}, "no such column in device: start"),
        ({"device": {"start_ns": [2], "end_ns": [1]}}, "a row of device ends before it starts"),
    ],
)
def test_build_refuses(tables, message):
    with pytest.raises(ValueError, match=message):
        Timeline.build(SOURCE, tables)


def test_merge_moves_every_part_to_one_clock():
    early = Timeline.build(
        Source("test", files=("a",), lost=(Loss("x", 2),)),
        {"device": {"start_ns": [10], "end_ns": [20], "name": ["k"], "rank": [0]}},
        origin_ns=1_000, recording_ns={0: (0, 50)}, environment={"events": 3},
    )  # fmt: skip
    late = Timeline.build(
        Source("test", files=("b",), lost=(Loss("x", 1),)),
        {"device": {"start_ns": [1], "end_ns": [2], "name": ["j"], "rank": [1]}},
        origin_ns=1_100, recording_ns={1: (0, 9)}, environment={"events": 4},
    )  # fmt: skip
    both = merge([late, early])
    assert both.origin_ns == 1_000
    assert both.device[["start_ns", "end_ns", "name", "rank"]].values.tolist() == [[10, 20, "k", 0], [101, 102, "j", 1]]
    assert both.recording_ns == {0: (0, 50), 1: (100, 109)}
    assert both.source.files == ("b", "a")
    assert both.source.lost == (Loss("x", 3),)
    assert both.environment["events"] == 7
    assert {c: str(t) for c, t in both.device.dtypes.items()} == COLUMNS["device"]
