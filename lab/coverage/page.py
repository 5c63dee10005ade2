"""The part of a page with the committed line figures."""

from __future__ import annotations

from lab import committed
from lab.coverage import figures
from lab.docs.generator import block
from lab.docs.sentences import made_by
from trimtab.tables import Page


@block
def lines_reached() -> Page:
    """Coverage by folder, and the files with the most unreached lines."""
    return [made_by(figures.NAME), *figures.page(committed.read(figures.NAME).rows)]
