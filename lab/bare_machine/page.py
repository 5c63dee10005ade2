"""The tables of docs/bare-machines.md."""

from __future__ import annotations

from lab.bare_machine import trial
from lab.docs.generator import block, reference
from lab.docs.sentences import made_by
from trimtab.tables import Page


@block
def bare_machine() -> Page:
    """Provenance, and a row for each command on each machine."""
    return [made_by(trial.NAME), trial.table(trial.committed_trials())]


@reference("Tests that bare machines skip")
def bare_machine_skips() -> Page:
    """The reasons of skipped tests, and where they hold."""
    return [trial.skipped_table(trial.committed_trials())]
