"""What the tests of the engine reach."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine


@task(
    help={
        "html": "folder for the sources with the count of each line",
        "update": "commit to the figures: write bench/coverage.json",
    }
)
@needs_engine
def coverage(_: Context, html: str = "", update: bool = False) -> None:
    """Count the lines of the engine that operator tests and the seeds of fuzzing reach."""
    from lab import committed
    from lab.coverage import figures as instrument
    from lab.coverage import measure as _coverage
    from lab.dev import instrumented
    from trimtab import tables

    rows = instrument.rows_of(_coverage.measure(html))
    print(tables.text(instrument.page(rows)))
    if update:
        made = instrument.to_results(rows, instrumented.version())
        print(f"written: {committed.write(instrument.NAME, made)}")
    if instrument.share(rows) < instrument.LEAST:
        raise Exit(f"coverage: less than {instrument.LEAST:.0%}", code=1)
