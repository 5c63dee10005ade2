"""Parts of the page about planted bugs."""

from __future__ import annotations

from lab.docs.generator import block
from lab.docs.sentences import made_by
from lab.mutate import figures
from trimtab.tables import Page


@block
def mutants_by_room() -> Page:
    """Mutants and caught ones of each room."""
    return [made_by(figures.NAME), figures.rooms_table(figures.committed_outcomes())]


@block
def mutants_by_kind() -> Page:
    """The change of each kind, and the share that is caught."""
    return [figures.kinds_table(figures.committed_outcomes())]


@block
def surviving_mutants() -> Page:
    """Each survivor and the reason."""
    return [figures.survivors_table(figures.committed_outcomes())]
