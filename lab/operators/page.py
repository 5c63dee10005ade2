"""A part of a page from the committed measurement of operators."""

from __future__ import annotations

from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from lab.operators.measure import BAR, OPERATORS, page, verdict
from trimtab.tables import Page


@reference("Single operators beside other engines on x86")
def single_operators() -> Page:
    """Provenance, verdict, and all cases, the slowest first."""
    if not OPERATORS.is_measured():
        return ["Not measured yet: `./inv bench.operators --python PEERS/bin/python --update`."]
    rows = OPERATORS.rows()
    slow: dict[str, float] = {}
    for row in rows:
        if row.ratio > BAR:
            slow[row.kind] = max(row.ratio, slow.get(row.kind, 0))
    worst = sorted(slow, key=lambda kind: -slow[kind])[:5]
    of_each = [f"The slowest are {listed(f'{kind} ({slow[kind]:.1f})' for kind in worst)}."]
    return [made_by(OPERATORS.name), verdict(rows), *(of_each * bool(worst)), page(rows)[1]]
