"""The part of a page with the committed trials."""

from __future__ import annotations

from lab.docs.generator import reference
from lab.docs.sentences import made_by
from lab.false_positives import trials
from trimtab.tables import Page


@reference("Trials of false positives")
def false_positive_trials() -> Page:
    """False-positive and detection rates, and one row per kind of trial."""
    return [made_by(trials.TRIALS.name), *trials.page(trials.TRIALS.rows())]
