"""The part of a page with the committed line figures."""

from __future__ import annotations

from lab.coverage import figures
from lab.docs.generator import reference
from lab.docs.sentences import made_by
from trimtab.tables import Page


@reference("Lines that tests reach")
def lines_reached() -> Page:
    """Coverage by folder, and the files with the most unreached lines."""
    rows = figures.COVERAGE.rows()
    total = f"{figures.share(rows):.1%} of {sum(row.lines for row in rows):,} lines are reached."
    return [made_by(figures.COVERAGE.name), total, *figures.page(rows)]
