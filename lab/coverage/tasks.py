"""What the tests of the engine reach."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task

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
    from trimtab import tables
    from trimtab.cli import _coverage, _instrumented
    from trimtab.instruments import committed
    from trimtab.instruments import coverage as instrument

    rows = instrument.rows_of(_coverage.measure(html))
    print(tables.text(instrument.page(rows)))
    if update:
        made = instrument.to_results(rows, _instrumented.version())
        print(f"written: {committed.write(instrument.NAME, made)}")
    if instrument.share(rows) < instrument.LEAST:
        raise Exit(f"coverage: less than {instrument.LEAST:.0%}", code=1)
