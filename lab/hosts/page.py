"""The part of the page of hosts that was tried on an emulated board."""

from __future__ import annotations

from lab.docs.generator import block
from lab.docs.sentences import made_by
from lab.hosts import trial
from trimtab.tables import Page


@block
def hosts_tried() -> Page:
    """The steps that were tried in an aarch64 Debian; a sentence until that was done."""
    if not trial.HOSTS.is_measured():
        return ["No result of `./inv hosts.board --update` is committed."]
    return [made_by(trial.NAME), trial.table(trial.HOSTS.rows())]
