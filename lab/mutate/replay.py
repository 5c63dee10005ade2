"""Plants mutants of the committed result again: a sample of the caught ones, which must still be
caught, or the survivors, for which there may be tests by now.

A caught mutant of Python is replayed by the test that caught it, then by all tests of its room.
Mutants whose line has changed since are left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from lab.dev import shell
from lab.mutate import campaign, figures, rooms
from lab.mutate.campaign import Stage
from lab.mutate.figures import CAUGHT, SURVIVED, MutantOutcome
from lab.mutate.mutants import Mutant
from trimtab.progress import Progress


def sample(count: int, seed: str) -> list[tuple[MutantOutcome, Mutant]]:
    """Committed outcomes of Python modules that a test caught, with their mutants as of now."""
    by_name = rooms.rooms()
    rows = [one for one in figures.committed_outcomes() if one.outcome == CAUGHT and "::" in one.by]
    rows = [one for one in rows if one.room in by_name and not by_name[one.room].is_cpp]
    random.Random(seed).shuffle(rows)
    return [*islice(_with_mutants(rows), count)]


def survivors() -> list[tuple[MutantOutcome, Mutant]]:
    """Committed outcomes that no test caught and nothing explains, with their mutants as of now."""
    reasons = figures.explanations()
    rows = [one for one in figures.committed_outcomes() if one.outcome == SURVIVED]
    return [*_with_mutants(one for one in rows if not figures.reason(one, reasons))]


def _with_mutants(rows: Iterable[MutantOutcome]) -> Iterator[tuple[MutantOutcome, Mutant]]:
    for row in rows:
        if mutant := _of(row):
            yield row, mutant


def _of(row: MutantOutcome) -> Mutant | None:
    """The mutant of a committed outcome, None if its line has changed."""
    path = shell.ROOT / row.file
    source = path.read_text("utf-8") if path.is_file() else ""
    if row.before not in source:
        return None
    room = rooms.rooms()[row.room]
    same = [
        mutant
        for mutant in room.find(row.file, source)
        if mutant.before(source) == row.before and mutant.after(source) == row.after
    ]
    return min(same, key=lambda mutant: abs(mutant.line - row.line), default=None)


def run(
    chosen: Sequence[tuple[MutantOutcome, Mutant]], jobs: int, progress: Progress
) -> list[MutantOutcome]:
    """The new outcomes of committed ones."""
    outcomes: list[MutantOutcome] = []
    with progress.step("planted bugs", "mutants") as step:
        for is_cpp in (False, True):
            work = []
            for row, mutant in chosen:
                room = rooms.find(row.room)
                tests = [Stage((row.by,))] if "::" in row.by else []
                if room.is_cpp == is_cpp:
                    work.append((room, mutant, [*tests, *campaign.stages(room, mutant)]))
            numbers = range(1) if is_cpp else range(1, jobs + 1)
            if work:
                with campaign.prepared(numbers, is_cpp) as pool:
                    for outcome in campaign.judged(pool, work):
                        outcomes.append(outcome)
                        step.update(len(outcomes), len(chosen))
    return outcomes
