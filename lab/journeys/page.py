"""The table of docs/journeys.md."""

from __future__ import annotations

from lab.docs.generator import block
from lab.docs.sentences import made_by
from lab.journeys.measure import JOURNEYS, JourneyRow
from trimtab.tables import Page


@block
def journeys() -> Page:
    """The figures of each detector in each precision."""
    return [made_by(JOURNEYS.name), JourneyRow.table(JOURNEYS.rows())]
