"""Renders records of a results folder in a report format: one run, several, or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trimtab import files, reports
from trimtab.compare import side_by_side
from trimtab.errors import ResultError, UsageError
from trimtab.paths import PROGRAM
from trimtab.results import index, records
from trimtab.results.records import Record
from trimtab.results.summary import summarize


def check_output(output: str) -> None:
    """ResultError if the file of a report cannot be written, before a long measurement starts."""
    if output:
        files.check_writable(Path(output), error=ResultError, hint="name another --output")


def render_run(reference: str, folder: Path, format_name: str = "terminal") -> str:
    """The report of one run.

    `reference` is a record's file, a run id, or `last`. UsageError if no run of `folder` matches,
    ResultError if the record cannot be read.
    """
    return reports.find(format_name).run(summarize(_read(reference, folder)))


def render_comparison(
    references: Sequence[str], folder: Path, format_name: str = "terminal"
) -> str:
    """Two or more runs side by side, set against the first; errors as in `render_run`."""
    return render_records([_read(reference, folder) for reference in references], format_name)


def render_records(runs: Sequence[Record], format_name: str = "terminal") -> str:
    """`render_comparison` of records that are in memory."""
    return reports.find(format_name).comparison(side_by_side.compare(runs))


def render_overview(folder: Path, format_name: str) -> str:
    """All complete runs of a folder at a glance.

    UsageError if the format has no overview, or the folder has no runs.
    """
    overview = reports.find_overview(format_name)
    summaries = [
        summarize(records.read(folder / run.file_name))
        for run in index.entries(folder)
        if run.status != index.TRUNCATED
    ]
    if not summaries:
        raise UsageError(f"no runs in {folder} yet", hint=f"{PROGRAM} bench records one")
    return overview.cells(summaries)


def _read(reference: str, folder: Path) -> Record:
    return records.read(index.find(reference, folder))
