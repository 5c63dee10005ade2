"""Lines of the engine that its tests reach: what is committed of it."""

from __future__ import annotations

from lab import committed
from lab.coverage import figures as coverage
from lab.docs.generator import block
from lab.docs.words import made_by
from trimtab.tables import Page


@block
def lines_reached() -> Page:
    """By folder, and the files with the most lines that nothing reaches."""
    return [made_by(coverage.NAME), *coverage.page(committed.read(coverage.NAME).rows)]
