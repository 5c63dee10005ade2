"""What the tests of the engine reach."""

from __future__ import annotations

from invoke.context import Context
from invoke.exceptions import Exit
from invoke.tasks import task

LEAST = 0.90  # of the lines of core and operators


@task(help={"html": "folder for the sources with the count of each line"})
def coverage(_: Context, html: str = "") -> None:
    """Count the lines of the engine that operator tests and the seeds of fuzzing reach."""
    from trimtab import tables
    from trimtab.cli import _coverage

    found = _coverage.measure(html)
    print(tables.text([_coverage.table(found)]))
    covered, lines = (sum(row) for row in zip(*found.values(), strict=True))
    print(f"{covered} of {lines} lines, {covered / lines:.1%}")
    if covered < LEAST * lines:
        raise Exit(f"coverage: less than {LEAST:.0%}", code=1)
