"""Plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from trimtab.bench.summary import Comparison, Summary
from trimtab.reports import _tables

SUFFIX = ".txt"


def run(summary: Summary) -> str:
    """The report of one run."""
    return _draw(summary.name, _tables.of_run(summary), ())


def comparison(comparison: Comparison) -> str:
    """The report of several runs side by side."""
    title = " against ".join(_tables.run_labels(comparison))
    return _draw(title, _tables.of_comparison(comparison), comparison.notes)


def _draw(title: str, tables: Sequence[_tables.Table], notes: Sequence[str]) -> str:
    blocks = [title]
    for table in tables:
        align = ["left"] + ["left" if table.title == "Setup" else "right"] * (
            len(table.headers) - 1
        )
        drawn = tabulate(table.rows, table.headers, "simple", colalign=align, disable_numparse=True)
        blocks.append(f"{table.title}\n{drawn}")
    blocks += [f"note: {note}" for note in notes]
    return "\n\n".join(blocks) + "\n"
