"""Exports rows of the index: as a table, CSV, or Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trimtab import escape, files
from trimtab.errors import MissingRequirementError, ResultError
from trimtab.tables import Column, Table, number

# The columns of a result that a table shows.
_SHORT = (
    *("run_id", "time", "status", "model", "precision", "weights", "prefer", "toolchain"),
    *("threads", "device", "latency_ns", "instructions", "binary_bytes", "model_bytes"),
)

Rows = Sequence[Sequence[Any]]


def table(columns: Sequence[str], rows: Rows) -> Table:
    """A table of the rows; complete results show only the main columns that are not empty."""
    shown = [*range(len(columns))]
    if set(_SHORT) < set(columns):
        shown = [i for i in shown if columns[i] in _SHORT]
        shown = [i for i in shown if any(row[i] not in (None, "") for row in rows)]
    kinds = []
    for i in shown:
        values = [row[i] for row in rows if row[i] is not None]
        is_number = bool(values) and all(isinstance(value, int | float) for value in values)
        whole = is_number and all(value == int(value) for value in values)
        kinds.append(
            number(columns[i], ",.0f" if whole else ",.4g") if is_number else Column(columns[i])
        )
    lines = [[None if row[i] is None else row[i] for i in shown] for row in rows]
    return Table(kinds, [[_to_seconds(value) for value in line] for line in lines])


def _to_seconds(value: Any) -> Any:
    """A timestamp cut to seconds; any other value unchanged."""
    is_time = isinstance(value, str) and len(value) > 19 and value[10:11] == "T"
    return value[:19] if is_time else value


def as_csv(columns: Sequence[str], rows: Rows) -> str:
    """Comma-separated values, with a header line."""
    return escape.csv_document([columns, *rows])


def write_parquet(columns: Sequence[str], rows: Rows, path: Path) -> None:
    """Writes a Parquet file. Raises MissingRequirementError without pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingRequirementError(
            "Parquet needs pyarrow, which is not installed", hint="pip install 'trimtab[parquet]'"
        ) from error
    values = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    with files.replacing(path, error=ResultError, hint="name another file") as part:
        pyarrow.parquet.write_table(pyarrow.table(values), part)
