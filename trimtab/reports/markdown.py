"""Markdown with pipe tables, for a pull request or a README."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from trimtab.bench.summary import Comparison, Summary
from trimtab.reports import _tables

SUFFIX = ".md"


def run(summary: Summary) -> str:
    """The report of one run."""
    return _draw(summary.name, _tables.of_run(summary), ())


def comparison(comparison: Comparison) -> str:
    """The report of several runs side by side."""
    title = " against ".join(_tables.run_labels(comparison))
    return _draw(title, _tables.of_comparison(comparison), comparison.notes)


def _draw(title: str, tables: Sequence[_tables.Table], notes: Sequence[str]) -> str:
    blocks = [f"# {_escape(title)}"]
    for table in tables:
        align = ["left"] + ["left" if table.title == "Setup" else "right"] * (
            len(table.headers) - 1
        )
        drawn = tabulate(
            [[_escape(cell) for cell in row] for row in table.rows],
            [_escape(header) for header in table.headers],
            "pipe",
            colalign=align,
            disable_numparse=True,
        )
        blocks.append(f"## {table.title}\n\n{drawn}")
    if notes:
        blocks.append("\n".join(f"* {_escape(note)}" for note in notes))
    return "\n\n".join(blocks) + "\n"


def _escape(text: str) -> str:
    """Keep `text` in its cell and out of Markdown's syntax."""
    for character in "\\`*|<":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())
