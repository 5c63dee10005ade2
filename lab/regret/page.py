"""A part of a page from the committed regret."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import reference
from lab.docs.sentences import listed, made_by
from lab.regret import measure
from trimtab.tables import Page


@reference("Regret of planned kernels")
def regret() -> Page:
    """Provenance, and the regret of each way to plan."""
    if not committed.path_of(measure.NAME).exists():
        return ["Not measured yet: `./inv bench.regret --update`."]
    results = committed.read(measure.NAME)
    seconds = max(row["seconds"] for row in results.rows)
    means = (f"{row['mean']:.3f} on {row['core']} by {row['plans_by']}" for row in results.rows)
    sentence = f"The mean regret is {listed(means)}; a fit took {seconds} s at most."
    return [made_by(measure.NAME), sentence, measure.table(results.rows)]
