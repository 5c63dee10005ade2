"""The outcomes of mutants, as tables and committed results, and the explanations of survivors."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from json import dumps

import lab
from lab import committed
from lab.experiment import Experiment, FigureRow, figure_row
from lab.mutate.mutants import KINDS
from trimtab import files, paths
from trimtab.tables import Column, Page, Table, number

NAME = "mutate"
COMMAND = "./inv mutate --again --update"
CAUGHT, SURVIVED = "caught", "survived"
MINIMUM = 0.92  # share of mutants that tests catch
EXPLAINED = lab.FOLDER / NAME / "survivors.toml"


@figure_row
class MutantOutcome(FigureRow):
    """The fate of one mutant. `before` and `after`: the changed line; `by`: the test that caught
    it, or "timeout"; `seconds`: of its tests.
    """

    room: str
    file: str
    line: int
    kind: str
    before: str
    after: str
    outcome: str
    by: str
    seconds: float

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"

    @property
    def id(self) -> tuple[str, str, str]:
        """File and changed line (before, after): the lines of a file move, its texts stay."""
        return self.file, self.before, self.after


MUTANTS = Experiment("mutate", NAME, MutantOutcome)


def committed_outcomes() -> list[MutantOutcome]:
    """The outcomes of the result file; none before the first update."""
    return MUTANTS.rows() if MUTANTS.is_measured() else []


def explanations() -> dict[tuple[str, str, str], str]:
    """Why a survivor changes nothing that a test could see, by the mutant's id."""
    entries = tomllib.loads(EXPLAINED.read_text("utf-8")).get("survivor", [])
    return {(one["file"], one["before"], one["after"]): one["reason"] for one in entries}


def reason(outcome: MutantOutcome, reasons: Mapping[tuple[str, str, str], str]) -> str:
    """The explanation of a survivor, "" if there is none."""
    return reasons.get(outcome.id, "")


def share(outcomes: Sequence[MutantOutcome]) -> float:
    """The share that was caught."""
    return sum(one.outcome == CAUGHT for one in outcomes) / max(1, len(outcomes))


def merged(old: Iterable[MutantOutcome], new: Iterable[MutantOutcome]) -> list[MutantOutcome]:
    """The old outcomes, with the new ones in place of those of the same mutants."""
    by_id = {one.id: one for one in (*old, *new)}
    return sorted(by_id.values(), key=lambda one: (one.room, one.file, one.line, one.after))


def update(new: Iterable[MutantOutcome], is_kept: Callable[[MutantOutcome], bool]) -> None:
    """Merges outcomes into those of the result file that are to be kept. Several campaigns may do
    so at the same time.
    """
    with files.locked(paths.cache() / NAME / ".lock"):
        old = filter(is_kept, committed_outcomes())
        committed.write(NAME, MUTANTS.results(merged(old, new), COMMAND))


def json(outcomes: Iterable[MutantOutcome]) -> str:
    """The outcomes as a JSON list."""
    return dumps([one.record() for one in outcomes], indent=1)


def rooms_table(outcomes: Sequence[MutantOutcome]) -> Table:
    """Mutants and caught ones of each room, and of all."""
    rows = []
    for name in [*dict.fromkeys(one.room for one in outcomes), ""]:
        mutants = [one for one in outcomes if name in ("", one.room)]
        files = len({one.file for one in mutants})
        caught = sum(one.outcome == CAUGHT for one in mutants)
        rows.append((name or "all", files, len(mutants), caught, share(mutants)))
    heads = [number("files"), number("mutants"), number("caught"), number("share", ".0%")]
    return Table([Column("room"), *heads], rows)


def kinds_table(outcomes: Sequence[MutantOutcome]) -> Table:
    """Mutants and caught ones of each kind."""
    rows = []
    for kind, change in KINDS.items():
        own = [one for one in outcomes if one.kind == kind]
        rows.append((kind, change, len(own), share(own) if own else None))
    heads = [number("mutants"), number("caught", ".0%", absent="-")]
    return Table([Column("kind"), Column("what changes"), *heads], rows)


def survivors_table(outcomes: Sequence[MutantOutcome]) -> Table:
    """Each survivor with the reason why no test can see it."""
    reasons = explanations()
    rows = [
        (one.place, one.kind, one.before, one.after, reason(one, reasons))
        for one in outcomes
        if one.outcome == SURVIVED
    ]
    heads = ("place", "kind", "before", "after", "why it survives")
    return Table([Column(head) for head in heads], rows)


def page(outcomes: Sequence[MutantOutcome]) -> Page:
    """All three tables."""
    return [rooms_table(outcomes), kinds_table(outcomes), survivors_table(outcomes)]
