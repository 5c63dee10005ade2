"""Parts of a page from the committed diagnoses."""

from __future__ import annotations

from lab.debug_alarms.measure import ALARMS, PRECISIONS, AlarmRow, names
from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from trimtab.tables import Page


@reference("False alarms of debug")
def debug_alarms() -> Page:
    """The count of false alarms, and one row for each network and precision."""
    rows = ALARMS.rows()
    networks, operators = len({row.network for row in rows}), sum(row.operators for row in rows)
    alarms, planned = sum(bool(row.cause) for row in rows), len(names()) * len(PRECISIONS)
    sentence = (
        f"{alarms} false alarms in {len(rows)} of {planned} diagnoses, those of {networks} "
        f"networks with {operators:,} operators; {sum(row.unknown for row in rows):,} operators "
        "were not compared."
    )
    done = {(row.network, row.precision) for row in rows}
    every = [(name, precision) for name in names() for precision in PRECISIONS]
    missing = [" ".join(one) for one in every if one not in done]
    rest = [f"Not diagnosed yet: {listed(missing)}."] if missing else []
    return [sentence, made_by(ALARMS.name), AlarmRow.table(rows), *rest]
