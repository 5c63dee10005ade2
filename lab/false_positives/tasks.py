"""How often the benchmark itself tells the truth."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import WAIT_HELP, parse_wait

NAMESPACE = "bench"
RENAMED = {"bench.truth": "bench.false-positives"}


@task(
    optional=["wait"],
    help={
        "trials": "comparisons of A with A, half of them beside a noisy neighbor, and as many of "
        "A with something slower; 200 take some 25 minutes",
        "resume": "go on with a run that was interrupted",
        "wait": WAIT_HELP,
        "json": "print JSON",
        "update": "commit to the figures: write bench/truth.json",
    },
)
@needs_engine
def false_positives(
    _: Context,
    trials: int = 200,
    resume: bool = False,
    wait: str = "",
    json: bool = False,
    update: bool = False,
) -> None:
    """Compare what is known to be equal, and what is known to be slower, on this machine."""
    from json import dumps

    from lab import committed
    from lab.false_positives import experiment as workflow
    from lab.false_positives import trials as instrument
    from lab.machine import MachineMonitor
    from trimtab import tables
    from trimtab.cli._progress import shown

    progress, monitor = shown(quiet=json), MachineMonitor()
    found = workflow.run(trials, resume=resume, wait_s=parse_wait(wait), progress=progress)
    rows = instrument.rows(found.trials)
    if json:
        floor = found.floor.share
        print(dumps({**instrument.tally(rows), "floor": floor, "rows": rows}, indent=1))
    else:
        print(tables.text(instrument.page(rows)))
    if update:
        command = f"./inv bench.false-positives --trials {trials} --update"
        made = instrument.to_results(found.trials, found.floor.share, command, monitor.facts())
        progress.note(f"written: {committed.write(instrument.NAME, made)}")
