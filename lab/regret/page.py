"""A part of a page from the committed regret."""

from __future__ import annotations

from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from lab.regret.measure import REGRET, RegretRow
from trimtab.tables import Page


@reference("Regret of planned kernels")
def regret() -> Page:
    """Provenance, and the regret of each way to plan."""
    if not REGRET.is_measured():
        return ["Not measured yet: `./inv bench.regret --update`."]
    rows = REGRET.rows()
    seconds = max(row.seconds for row in rows)
    means = (f"{row.mean:.3f} on {row.core} by {row.plans_by}" for row in rows)
    sentence = f"The mean regret is {listed(means)}; a fit took {seconds} s at most."
    return [made_by(REGRET.name), sentence, RegretRow.table(rows)]
