"""Line coverage of the engine."""

from __future__ import annotations

from collections.abc import Sequence

from lab.experiment import Experiment, FigureRow, computed, figure, figure_row, text
from trimtab.tables import Column, Page, Table

FOLDERS = ("runtime/core/", "runtime/ops/")
MINIMUM = 0.90  # coverage of both folders together
_SHOWN = 12  # files with the most unreached lines


@figure_row
class CoverageRow(FigureRow):
    """Executed lines and lines of code of a source file."""

    file: str = text("file")
    reached: int = figure()
    missed: int = computed("not reached", is_text=True, of=lambda row: row.lines - row.reached)
    lines: int = text("lines")


COVERAGE = Experiment("coverage", "coverage", CoverageRow, stand_ins={"html": "FOLDER"})


def share(rows: Sequence[CoverageRow]) -> float:
    """The share of executed lines."""
    return sum(row.reached for row in rows) / sum(row.lines for row in rows)


def page(rows: Sequence[CoverageRow]) -> Page:
    """Coverage of each folder, and the files with the most unreached lines."""
    groups = {folder: [row for row in rows if row.file.startswith(folder)] for folder in FOLDERS}
    totals = [
        (title, sum(row.lines for row in group), f"{share(group):.1%}")
        for title, group in [*groups.items(), ("both", rows)]
    ]
    missed = sorted((row for row in rows if row.missed), key=lambda row: (-row.missed, row.file))
    return [
        Table([Column("folder"), Column("lines"), Column("reached")], totals),
        "The files with the most unreached lines:",
        CoverageRow.table(missed[:_SHOWN]),
    ]
