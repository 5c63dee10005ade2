"""The results that figures of pages rest on, and what these hold of the measurements."""

from __future__ import annotations

import re
from collections.abc import Sequence

import lab
from lab import committed, waiting
from lab.committed import Results
from lab.docs import generator
from trimtab.errors import VerificationError
from trimtab.tables import Column, Table, number

_DIGITS = 4  # of milliseconds with samples, in result files
_TIMES = re.compile(r".*_(ms|ns)|seconds|cost|ratio")
GATHERED = "gathered without a task: the notes name the source"
TIMES = "medians and ratios of times; the samples are not committed"
SAMPLES = "times with the samples that they follow from"
COUNTS = "counts, bytes, outcomes: the command gives them again"


def kind(results: Results) -> str:
    """The part of its measurement that the rows of a result file hold."""
    if not results.command:
        return GATHERED
    timed = (
        value is not None and _TIMES.fullmatch(name)
        for row in results.rows
        for name, value in row.items()
    )
    if any(row.get("samples") for row in results.rows):
        return SAMPLES
    return TIMES if results.machine or any(timed) else COUNTS


def unfounded(results: Results) -> str:
    """The first figure that does not follow from the samples of its row, "" if all do."""
    for row in results.rows:
        for figure, rounds in (row.get("samples") or {}).items():
            right = round(waiting.typical(rounds, row.get("waited", 0.0)) / 1e6, _DIGITS)
            if row[figure] != right:
                return f"{figure} is {row[figure]}, by its samples {right}"
    return ""


def table(names: Sequence[str]) -> Table:
    """One row for each result file; FileAccessError for one that was changed since its command
    wrote it, VerificationError for a figure that does not follow from its samples.
    """
    rows = []
    for name in names:
        results = committed.read(name)
        path = committed.path_of(name).relative_to(lab.FOLDER.parent).as_posix()
        if wrong := unfounded(results):
            hint = "measure again with --update"
            raise VerificationError(f"a time is wrong: {wrong}", where=path, hint=hint)
        rows.append((path, results.date, len(results.rows), kind(results), results.sha256[:16]))
    columns = [Column("result"), Column("date"), number("rows", ","), Column("its rows are")]
    return Table([*columns, Column("SHA-256")], rows)


def difference() -> str:
    """The first line of a page that does not follow from the results, "" if all do: those that git
    tracks, and those of `docs/reference` that this checkout has.
    """
    for page, text in generator.every_page().items():
        if page.exists() and (different := generator.difference(page, text)):
            return different
    return ""
