"""How often comparisons tell the truth: what the committed trials say."""

from __future__ import annotations

from trimtab.instruments import committed, truth
from trimtab.pages import block
from trimtab.pages._words import made_by
from trimtab.tables import Page


@block
def truth_trials() -> Page:
    """False alarms, and what was found of planted differences."""
    return [made_by(truth.NAME), *truth.page(committed.read(truth.NAME).rows)]
