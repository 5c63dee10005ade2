"""A part of a page from the committed regret."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import block
from lab.docs.sentences import made_by
from lab.regret import measure
from trimtab.tables import Page


@block
def regret() -> Page:
    """Provenance, and the regret of each way to plan."""
    if not committed.path_of(measure.NAME).exists():
        return ["Not measured yet: `./inv bench.regret --update`."]
    results = committed.read(measure.NAME)
    seconds = max(row["seconds"] for row in results.rows)
    return [made_by(measure.NAME), measure.table(results.rows), f"A fit took {seconds} s at most."]
