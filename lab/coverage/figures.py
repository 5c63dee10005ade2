"""Line coverage of the engine, as tables and committed results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from lab.committed import Results, Row
from trimtab import __version__
from trimtab.tables import Column, Page, Table

NAME = "coverage"
FOLDERS = ("runtime/core/", "runtime/ops/")
MINIMUM = 0.90  # coverage of both folders together
_SHOWN = 12  # files with the most unreached lines


@dataclass(frozen=True)
class FileCoverage:
    """Executed lines and lines of code of a source file."""

    file: str
    reached: int
    lines: int


def share(rows: Sequence[Row]) -> float:
    """The share of executed lines."""
    return float(sum(row["reached"] for row in rows) / sum(row["lines"] for row in rows))


def rows_of(files: Sequence[FileCoverage]) -> list[Row]:
    """One row per file, by name."""
    return [asdict(file) for file in sorted(files, key=lambda file: file.file)]


def to_results(rows: Sequence[Row], clang: str) -> Results:
    """The content of the result file."""
    versions = {"trimtab": __version__, "clang": clang}
    return Results(command="./inv coverage --update", versions=versions, rows=rows)


def page(rows: Sequence[Row]) -> Page:
    """Coverage of each folder, and the files with the most unreached lines."""
    totals = []
    for folder in FOLDERS:
        own = [row for row in rows if row["file"].startswith(folder)]
        totals.append((folder, sum(row["lines"] for row in own), f"{share(own):.1%}"))
    totals.append(("both", sum(row["lines"] for row in rows), f"{share(rows):.1%}"))
    missed = [(row["file"], row["lines"] - row["reached"], row["lines"]) for row in rows]
    missed = sorted((row for row in missed if row[1]), key=lambda row: (-row[1], row[0]))
    return [
        Table([Column("folder"), Column("lines"), Column("reached")], totals),
        "The files with the most unreached lines:",
        Table([Column("file"), Column("not reached"), Column("lines")], missed[:_SHOWN]),
    ]
