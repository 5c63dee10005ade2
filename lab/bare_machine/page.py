"""The table of bare machines in docs/bare-machines.md."""

from __future__ import annotations

from lab import committed
from lab.bare_machine import trial
from lab.docs.generator import block
from lab.docs.sentences import made_by
from trimtab.tables import Page


@block
def bare_machine() -> Page:
    """Provenance, one row for each command on each machine, and the reasons of skipped tests."""
    trials = trial.from_rows(committed.read(trial.NAME).rows)
    return [made_by(trial.NAME), trial.table(trials), trial.skipped_table(trials)]
