"""Plants bugs and looks whether tests notice."""

from __future__ import annotations

from dataclasses import dataclass

from invoke.exceptions import Exit

from trimtab.cli._command import command, option


@dataclass(frozen=True, kw_only=True)
class MutateOptions:
    """Options of `mutate`."""

    room: tuple[str, ...] = option(
        "room, such as `planner`, or `core`, `ops`, `generic` of the engine (repeatable; "
        "default: all)",
        (),
    )
    count: int = option("mutants per room", 10)
    seed: str = option("chooses the mutants: the same seed, the same mutants", "1")
    jobs: int = option("mutants at once; default: one per core", 0)
    replay: int = option("instead: so many caught mutants of the committed result", 0)
    again: bool = option("instead: the survivors of the committed result", False)
    update: bool = option(
        "write the outcomes to lab/mutate/, in place of those of these rooms", False
    )
    json: bool = option("print JSON", False)


@command(MutateOptions, engine=True)
def mutate(options: MutateOptions) -> None:
    """Plant bugs in copies of the checkout and run the tests of their room."""
    import os

    from lab import committed
    from lab.mutate import campaign, figures, replay, rooms
    from trimtab import files, paths, tables
    from trimtab.cli._progress import shown

    progress = shown(quiet=options.json)
    jobs = options.jobs or os.cpu_count() or 1
    outcomes: list[figures.MutantOutcome] = []

    def keep(new: list[figures.MutantOutcome], *, by_room: bool) -> None:
        outcomes.extend(new)
        if options.update and new:
            with files.locked(paths.cache() / "mutate" / ".lock"):
                rows = figures.merged(figures.committed_outcomes(), new, by_room=by_room)
                path = committed.write(figures.NAME, figures.to_results(rows))
            progress.note(f"written: {path}")

    if options.replay:
        outcomes += replay.run(replay.sample(options.replay, options.seed), jobs, progress)
    elif options.again:
        keep(replay.run(replay.survivors(), jobs, progress), by_room=False)
    else:
        for room in rooms.chosen(options.room):
            new = campaign.run(room, options.count, options.seed, jobs, progress)
            keep(new, by_room=True)
    print(figures.json(outcomes) if options.json else tables.text(figures.page(outcomes)))
    reasons = figures.explanations()
    survivors = [one for one in outcomes if one.outcome == figures.SURVIVED]
    if unexplained := [one.place for one in survivors if not figures.reason(one, reasons)]:
        raise Exit(f"mutate: no test notices {', '.join(unexplained)}", code=1)
