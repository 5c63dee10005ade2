"""Parts of pages from the committed comparison of boxes."""

from __future__ import annotations

from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.photographs import measure
from trimtab.tables import Page


@reference("Boxes on photographs beside OpenCV")
def photographs() -> Page:
    """Provenance, verdict, and the figures of each network."""
    figures = measure.PHOTOGRAPHS.rows()
    sentences = []
    for pair in measure.PAIRS:
        rows = [a for a in figures if (a.reference, a.other) == pair]
        boxes, same, others = (
            sum(getattr(a, n) for a in rows) for n in ("boxes", "same", "others")
        )
        sentences.append(
            f"Of {boxes:,} boxes of {pair[0]}, {same:,} have a box of {pair[1]} of the same class"
            f" with an overlap of at least {measure.BAR}; {others:,} boxes are only in {pair[1]}'s."
        )
    return [made_by(measure.PHOTOGRAPHS.name), *sentences, measure.PhotographsRow.table(figures)]
