"""The page about planted bugs."""

from __future__ import annotations

from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.mutate import figures
from trimtab.tables import Page


@reference("Planted bugs and the tests")
def mutants() -> Page:
    """Mutants and caught ones of each room and kind, and each survivor with the reason."""
    outcomes = figures.committed_outcomes()
    count = sum(outcome.outcome == figures.CAUGHT for outcome in outcomes)
    return [
        made_by(figures.NAME),
        f"Tests catch {count} of {len(outcomes)} planted bugs ({figures.share(outcomes):.0%}).",
        *figures.page(outcomes),
    ]
