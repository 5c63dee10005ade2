"""Lines of the engine that its tests reach: what is committed of it."""

from __future__ import annotations

from trimtab.instruments import committed, coverage
from trimtab.pages import block
from trimtab.pages._words import made_by
from trimtab.tables import Page


@block
def lines_reached() -> Page:
    """By folder, and the files with the most lines that nothing reaches."""
    return [made_by(coverage.NAME), *coverage.page(committed.read(coverage.NAME).rows)]
