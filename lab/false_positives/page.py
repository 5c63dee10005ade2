"""How often comparisons tell the truth: what the committed trials say."""

from __future__ import annotations

from lab import committed
from lab.docs.generator import block
from lab.docs.words import made_by
from lab.false_positives import trials as truth
from trimtab.tables import Page


@block
def truth_trials() -> Page:
    """False alarms, and what was found of planted differences."""
    return [made_by(truth.NAME), *truth.page(committed.read(truth.NAME).rows)]
