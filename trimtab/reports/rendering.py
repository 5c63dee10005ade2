"""Reports of recorded runs: one alone, several side by side, the list of all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trimtab import files, paths, reports
from trimtab.compare import side_by_side
from trimtab.errors import ResultError, UsageError
from trimtab.results import index, records, summary
from trimtab.tables import Column, Table, number


def results_folder(chosen: str = "") -> Path:
    """Where records are kept: the folder that was asked for, or `results/` of the checkout."""
    base = paths.root() if paths.is_checkout() else Path.cwd()
    return Path(chosen).expanduser() if chosen else base / "results"


def check_form(form: str, output: str) -> None:
    """For what measures before it reports into the file `output`: UsageError when there is no such
    format, ResultError when the file cannot be written.
    """
    reports.find(form)
    if output:
        files.check_writable(Path(output), error=ResultError, hint="name another --output")


def report(reference: str, folder: Path, form: str = "terminal") -> str:
    """What one run says, in a format of `trimtab.reports`.

    `reference`: the record's file, a run id or `last`; UsageError when it is no run of `folder`,
    ResultError when it cannot be read.
    """
    return reports.find(form).run(summary.summarize(_read(reference, folder)))


def compare(references: Sequence[str], folder: Path, form: str = "terminal") -> str:
    """Two runs or more side by side, set against the first; errors as `report`."""
    return compared([_read(reference, folder) for reference in references], form)


def compared(runs: Sequence[records.Record], form: str = "terminal") -> str:
    """What `compare` says, of records that were read."""
    return reports.find(form).comparison(side_by_side.compare(runs))


def overview(folder: Path, form: str) -> str:
    """All whole runs of a folder at a glance; UsageError where the format or the folder has no
    such thing.
    """
    shows = reports.find_overview(form)
    found = [
        summary.summarize(records.read(folder / run.file_name))
        for run in index.entries(folder)
        if run.status != index.TRUNCATED
    ]
    if not found:
        raise UsageError(f"no runs in {folder} yet", hint="./inv bench makes one")
    return shows.cells(found)


def runs(folder: Path) -> Table:
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


def _read(reference: str, folder: Path) -> records.Record:
    return records.read(index.find(reference, folder))
