"""One table of a diagnosis as CSV or Parquet, in base units: ``kernels.csv`` holds the table ``kernels``.

Columns bear their unit, as in ``time_s`` and ``share_fraction``.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from diagtool.diagnosis import Diagnosis, Table
from diagtool.errors import OutputFailed, UsageError
from diagtool.units import nearest


def check(diagnosis: Diagnosis, path: Path) -> Table:
    """The table that the file is named after. UsageError when the diagnosis has no such table."""
    table = diagnosis.table(path.stem)
    if table is None:
        known = sorted({table.name for result in diagnosis.results for table in result.tables})
        raise UsageError(f"{path}: the diagnosis has no table {path.stem!r}", nearest(path.stem, known))
    return table


def write(diagnosis: Diagnosis, path: Path) -> None:
    """Write the table that the file is named after."""
    frame = _frame(check(diagnosis, path))
    if path.suffix == ".parquet":
        _write_parquet(frame, path)
    else:
        frame.to_csv(path, index=False, encoding="utf-8", errors="replace")


def _frame(table: Table) -> pd.DataFrame:
    names = [_column(column.name, column.unit) for column in table.columns]
    values: dict[str, Any] = {name: [row[at] for row in table.rows] for at, name in enumerate(names)}
    frame = pd.DataFrame(values, columns=names)
    for name, column in zip(names, table.columns, strict=True):
        if column.unit:
            frame[name] = pd.to_numeric(frame[name])
    return frame


def _column(name: str, unit: str) -> str:
    word = name.replace(" ", "_")
    return f"{word}_{unit.replace('/', '_per_')}" if unit and unit != "count" else word


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    try:
        frame.to_parquet(path, index=False)
    except ImportError as error:
        raise OutputFailed("Parquet needs the package pyarrow", "pip install pyarrow, or write a .csv") from error
