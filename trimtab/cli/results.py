"""All results in one place, to be asked and given away."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._options import RESULTS_HELP

GROUP = "Compare and report"


@task(
    auto_shortflags=False,
    help={
        "query": "a condition, such as \"device = 'pi4' AND threads = 1\", or a SELECT on "
        "runs, results, cells, devices and commits (docs/sweeps.md)",
        "json": "print an array of objects",
        "csv": "print comma-separated values",
        "parquet": "write this Parquet file (trimtab[parquet])",
        "results": RESULTS_HELP,
    },
)
def results(
    _: Context,
    query: str = "",
    json: bool = False,
    csv: bool = False,
    parquet: str = "",
    results: str = "",
) -> None:
    """Ask the index of all runs, and export what it says."""
    from json import dumps
    from pathlib import Path

    from trimtab.errors import UsageError
    from trimtab.results import export as workflow
    from trimtab.results import index
    from trimtab.results.folder import results_folder

    if sum((json, csv, bool(parquet))) > 1:
        raise UsageError("one form at a time", hint="--json, --csv or --parquet FILE")
    folder = results_folder(results)
    columns, rows = index.query(query, folder)
    if json:
        print(dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=1))
    elif csv:
        print(workflow.as_csv(columns, rows), end="")
    elif parquet:
        workflow.write_parquet(columns, rows, Path(parquet))
        print(f"written: {parquet} ({len(rows)} rows)")
    else:
        print(workflow.table(columns, rows).text() if rows else "no run is like that")
