"""Plants mutants of the committed result again: a sample of the caught ones, which must still be
caught, the survivors, for which there may be tests by now, or all.

A caught mutant of Python is replayed by the test that caught it, then by all tests of its room.
Mutants whose line has changed since are left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from lab.dev import shell
from lab.mutate import campaign, figures, rooms
from lab.mutate.campaign import Judged, Stage
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


def rows(room_names: Sequence[str], *, survivors: bool) -> list[tuple[MutantOutcome, Mutant]]:
    """All committed outcomes of these rooms, or only those that no test caught, with their mutants
    as of now.
    """
    chosen = {room.name for room in rooms.chosen(room_names)}
    rows = [one for one in figures.committed_outcomes() if one.room in chosen]
    return [*_with_mutants(one for one in rows if one.outcome == SURVIVED or not survivors)]


def is_there(row: MutantOutcome) -> bool:
    """Whether the text of a committed outcome's line is still in its file."""
    path = shell.ROOT / row.file
    return path.is_file() and row.before in path.read_text("utf-8")


def _with_mutants(rows: Iterable[MutantOutcome]) -> Iterator[tuple[MutantOutcome, Mutant]]:
    for row in rows:
        if mutant := _of(row):
            yield row, mutant


def _of(row: MutantOutcome) -> Mutant | None:
    """The mutant of a committed outcome, None if its line has changed."""
    if not is_there(row):
        return None
    source = (shell.ROOT / row.file).read_text("utf-8")
    room = rooms.rooms()[row.room]
    same = [
        mutant
        for mutant in room.find(row.file, source)
        if mutant.before(source) == row.before and mutant.after(source) == row.after
    ]
    return min(same, key=lambda mutant: abs(mutant.line - row.line), default=None)


def run(
    chosen: Sequence[tuple[MutantOutcome, Mutant]], jobs: int, progress: Progress
) -> Iterator[MutantOutcome]:
    """The new outcomes of committed ones."""
    done = 0
    with progress.step("planted bugs", "mutants") as step:
        groups: dict[tuple[bool, tuple[str, ...]], list[Judged]] = {}
        for row, mutant in chosen:
            room = rooms.find(row.room)
            tests = [Stage((row.by,))] if "::" in row.by else []
            judged = (room, mutant, [*tests, *campaign.stages(room, mutant)])
            groups.setdefault((room.is_cpp, room.toolchains), []).append(judged)
        for (is_cpp, _), work in sorted(groups.items(), key=lambda group: group[0]):
            numbers = range(1) if is_cpp else range(1, jobs + 1)
            with campaign.prepared(numbers, work[0][0]) as pool:
                for outcome in campaign.judged(pool, work):
                    yield outcome
                    done += 1
                    step.update(done, len(chosen))
