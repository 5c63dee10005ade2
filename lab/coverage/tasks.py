"""Measures the line coverage of the engine."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine


@task(
    help={
        "html": "folder for annotated sources",
        "update": "write the figures to lab/coverage/",
    }
)
@needs_engine
def coverage(_: Context, html: str = "", update: bool = False) -> None:
    """Measure line coverage of the engine by operator tests and seeds of fuzzing."""
    from lab import committed
    from lab.coverage import figures, measure
    from lab.dev import instrumented
    from trimtab import tables

    rows = figures.rows_of(measure.measure(html))
    print(tables.text(figures.page(rows)))
    if update:
        results = figures.to_results(rows, instrumented.version())
        print(f"written: {committed.write(figures.NAME, results)}")
    if figures.share(rows) < figures.MINIMUM:
        raise Exit(f"coverage: less than {figures.MINIMUM:.0%}", code=1)
