"""The table of stored weights in docs/size.md."""

from __future__ import annotations

from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.stored_weights import measure
from trimtab.tables import Page


@reference("Model files by stored weights")
def stored_weights() -> Page:
    """Provenance, means, and the bytes of each network."""
    rows = measure.STORED.rows()
    return [
        made_by(measure.STORED.name),
        *measure.summary(rows),
        measure.StoredWeightsRow.table(rows),
    ]
