"""Plants bugs and looks whether tests notice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from invoke.exceptions import Exit

from trimtab.cli._command import command, option

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, kw_only=True)
class MutateOptions:
    """Options of `mutate`."""

    room: tuple[str, ...] = option(
        "room, such as `planner`, or `core`, `ops`, `api`, `app`, `bindings` of the engine, its "
        "kernels `generic`, `portable`, `x86`, `arm`, or `scripts` of devices (repeatable; "
        "default: all)",
        (),
    )
    count: int = option("mutants per room", 10)
    seed: str = option("chooses the mutants: the same seed, the same mutants", "1")
    jobs: int = option("mutants at once; default: one per core", 0)
    replay: int = option("instead: so many caught mutants of the committed result", 0)
    again: bool = option("instead: the mutants of the committed result, in these rooms", False)
    survivors: bool = option("instead: those of them that survived", False)
    update: bool = option(
        "write the outcomes to lab/mutate/, in place of earlier ones of the same mutants", False
    )
    json: bool = option("print JSON", False)


@command(MutateOptions, engine=True)
def mutate(options: MutateOptions) -> None:
    """Plant bugs in copies of the checkout and run the tests of their room."""
    import os
    from itertools import chain

    from lab.mutate import campaign, figures, replay, rooms
    from trimtab import tables
    from trimtab.cli._progress import shown

    progress = shown(quiet=options.json)
    jobs = options.jobs or os.cpu_count() or 1
    judged: Iterator[figures.MutantOutcome]
    if options.replay:
        judged = replay.run(replay.sample(options.replay, options.seed), jobs, progress)
    elif options.again or options.survivors:
        mutants = replay.rows(options.room, survivors=options.survivors)
        judged = replay.run(mutants, jobs, progress)
    else:
        judged = chain.from_iterable(
            campaign.run(room, options.count, options.seed, jobs, progress)
            for room in rooms.chosen(options.room)
        )
    outcomes = []
    for outcome in judged:
        outcomes.append(outcome)
        if options.update:
            figures.update([outcome], replay.is_there)
    print(figures.json(outcomes) if options.json else tables.text(figures.page(outcomes)))
    reasons = figures.explanations()
    survivors = [one for one in outcomes if one.outcome == figures.SURVIVED]
    if unexplained := [one.place for one in survivors if not figures.reason(one, reasons)]:
        raise Exit(f"mutate: no test notices {', '.join(unexplained)}", code=1)
