"""Parts of pages from the committed comparison of boxes."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import block
from lab.docs.sentences import made_by
from lab.photographs import measure
from trimtab.tables import Page


@block
def photographs() -> Page:
    """Provenance, verdict, and the figures of each network."""
    figures = measure.from_rows(committed.read(measure.NAME).rows)
    same, boxes = sum(a.same for a in figures), sum(a.boxes for a in figures)
    others = sum(a.others for a in figures)
    return [
        made_by(measure.NAME),
        f"Of {boxes:,} boxes of the reference pipeline, {same:,} have a box of the same class with"
        f" an overlap of at least {measure.BAR}; {others:,} boxes are only in trimtab's.",
        measure.table(figures),
    ]
