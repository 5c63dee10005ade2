"""The folder that holds the records of runs."""

from __future__ import annotations

from pathlib import Path

from trimtab import paths
from trimtab.results import index
from trimtab.tables import Column, Table, number


def results_folder(chosen: str = "") -> Path:
    """The folder that the user names, else `results/` of the checkout or of the working folder."""
    base = paths.root() if paths.is_checkout() else Path.cwd()
    return Path(chosen).expanduser() if chosen else base / "results"


def runs_table(folder: Path) -> Table:
    """All runs of a folder, oldest first."""
    columns = [
        *map(Column, ("run", "time (UTC)", "status", "model", "profile", "device")),
        *(number("launches"), number("median"), number("binary bytes", ",")),
    ]
    rows = [
        (
            *(run.run_id or run.file_name, run.time[:19], run.status, run.model, run.profile),
            *(
                run.device,
                run.launches,
                f"{run.headline:,.0f} {run.unit}" if run.headline else None,
            ),
            run.binary_bytes,
        )
        for run in index.entries(folder)
    ]
    return Table(columns, rows)
