"""Queries and exports of the index of all runs."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.cli._options import RESULTS_HELP

GROUP = "Compare and report"


@dataclass(frozen=True, kw_only=True)
class ResultsOptions:
    """Options of `results`."""

    query: str = option(
        "a condition, such as \"device = 'pi4' AND threads = 1\", or a SELECT on runs, results, "
        "cells, devices and commits (docs/sweeps.md)"
    )
    json: bool = option("print an array of objects", False)
    csv: bool = option("print comma-separated values", False)
    parquet: str = option("write this Parquet file (trimtab[parquet])")
    results: str = option(RESULTS_HELP)


@command(ResultsOptions, short_options=False)
def results(options: ResultsOptions) -> None:
    """Query the index of all runs, and export the answer."""
    from pathlib import Path

    from trimtab.errors import UsageError
    from trimtab.results import export, index
    from trimtab.results.folder import results_folder
    from trimtab.strict_json import dumps

    if sum((options.json, options.csv, bool(options.parquet))) > 1:
        raise UsageError("one form at a time", hint="--json, --csv or --parquet FILE")
    columns, rows = index.query(options.query, results_folder(options.results))
    if options.json:
        print(dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=1))
    elif options.csv:
        print(export.as_csv(columns, rows), end="")
    elif options.parquet:
        export.write_parquet(columns, rows, Path(options.parquet))
        print(f"written: {options.parquet} ({len(rows)} rows)")
    else:
        print(export.table(columns, rows).text() if rows else "no run matches")
