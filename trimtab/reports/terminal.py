"""Plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab import tables
from trimtab.bench.summary import Comparison, Summary
from trimtab.reports import _tables
from trimtab.tables import Table

SUFFIX = ".txt"
IS_WHOLE = True


def run(summary: Summary) -> str:
    """The report of one run."""
    return _draw([summary.name], _tables.of_run(summary), summary.notes)


def comparison(comparison: Comparison) -> str:
    """The report of several runs side by side."""
    title = " against ".join(_tables.run_labels(comparison))
    heads = [title, *([f"{comparison.verdict}"] if comparison.verdict else [])]
    return _draw(heads, _tables.of_comparison(comparison), comparison.notes)


def _draw(heads: Sequence[str], found: Sequence[Table], notes: Sequence[str]) -> str:
    return tables.text([*heads, *found, *(f"note: {note}" for note in notes)]) + "\n"
