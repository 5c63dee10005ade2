"""Markdown with pipe tables, for a pull request or a README."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab import escape, tables
from trimtab.compare.side_by_side import Comparison
from trimtab.reports import run_tables
from trimtab.results.summary import Summary
from trimtab.tables import Table

SUFFIX = ".md"
IS_WHOLE = True


def run(summary: Summary) -> str:
    """The report of one run."""
    return _draw([summary.name], run_tables.of_run(summary), summary.notes)


def comparison(comparison: Comparison) -> str:
    """The report of several runs side by side."""
    title = " against ".join(run_tables.run_labels(comparison))
    heads = [title, *([f"{comparison.verdict}"] if comparison.verdict else [])]
    return _draw(heads, run_tables.of_comparison(comparison), comparison.notes)


def _draw(heads: Sequence[str], parts: Sequence[Table], notes: Sequence[str]) -> str:
    listed = "\n".join(f"* {escape.markdown(note)}" for note in notes)
    title, *verdict = map(escape.markdown, heads)
    page: tables.Page = [f"# {title}", *verdict, *parts, *([listed] if notes else [])]
    return tables.markdown(page) + "\n"
