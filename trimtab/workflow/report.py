"""Reports of recorded runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trimtab import files, paths, reports
from trimtab.bench import index, summary
from trimtab.bench import results as records
from trimtab.errors import ResultError
from trimtab.tables import Column, Table, number


def results_folder(chosen: str = "") -> Path:
    """Where records are kept: the folder that was asked for, or `results/` of the checkout."""
    base = paths.root() if paths.is_checkout() else Path.cwd()
    return Path(chosen).expanduser() if chosen else base / "results"


def report(references: Sequence[str], *, format: str, output: str, results: str) -> None:
    """Print or write the report of one run, the comparison of several, or the list of all."""
    folder = results_folder(results)
    if not references:
        print(list_runs(folder))
        return
    runs = [records.read(index.find(reference, folder)) for reference in references]
    form = reports.find(format)
    if len(runs) == 1:
        text = form.run(summary.summarize(runs[0]))
    else:
        text = form.comparison(summary.compare(runs))
    if output:
        files.write_text(Path(output), text, error=ResultError, hint="name another --output")
        print(f"written: {output}")
    else:
        print(text, end="")


def list_runs(folder: Path) -> str:
    """All runs of a folder as a table, oldest first."""
    runs = index.entries(folder)
    if not runs:
        return f"no runs in {folder} yet; ./inv bench makes one"
    columns = [
        *map(Column, ("run", "time (UTC)", "status", "model", "profile", "device")),
        *(number("median"), number("binary bytes", ",")),
    ]
    rows = [
        (
            *(run.run_id or run.file_name, run.time[:19], run.status, run.model, run.profile),
            *(run.device, f"{run.headline:,.0f} {run.unit}" if run.headline else None),
            run.binary_bytes,
        )
        for run in runs
    ]
    return Table(columns, rows).text()
