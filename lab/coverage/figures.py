"""Lines of the engine that its tests reach: what `./inv coverage` found, and the page of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from lab.committed import Results, Row
from trimtab import __version__
from trimtab.tables import Column, Page, Table

NAME = "coverage"
FOLDERS = ("runtime/core/", "runtime/ops/")
LEAST = 0.90  # of the lines of both together
_SHOWN = 12  # files of which most was not reached


@dataclass(frozen=True)
class File:
    """A source file, its lines of code, and how many of them ran."""

    file: str
    reached: int
    lines: int


def share(rows: Sequence[Row]) -> float:
    """The part of all lines that ran."""
    return float(sum(row["reached"] for row in rows) / sum(row["lines"] for row in rows))


def rows_of(files: Sequence[File]) -> list[Row]:
    """A row for each file, by name."""
    return [asdict(file) for file in sorted(files, key=lambda file: file.file)]


def to_results(rows: Sequence[Row], clang: str) -> Results:
    """What is committed."""
    versions = {"trimtab": __version__, "clang": clang}
    return Results(command="./inv coverage --update", versions=versions, rows=rows)


def page(rows: Sequence[Row]) -> Page:
    """Each folder, and the files of which most was not reached."""
    totals = []
    for folder in FOLDERS:
        own = [row for row in rows if row["file"].startswith(folder)]
        totals.append((folder, sum(row["lines"] for row in own), f"{share(own):.1%}"))
    totals.append(("both", sum(row["lines"] for row in rows), f"{share(rows):.1%}"))
    missed = [(row["file"], row["lines"] - row["reached"], row["lines"]) for row in rows]
    missed = sorted((row for row in missed if row[1]), key=lambda row: (-row[1], row[0]))
    return [
        Table([Column("folder"), Column("lines"), Column("reached")], totals),
        "The files of which most is not reached:",
        Table([Column("file"), Column("not reached"), Column("lines")], missed[:_SHOWN]),
    ]
