"""Measures the false-positive and detection rates of `bench.ab`."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine
from trimtab.cli._options import WAIT_HELP, parse_wait

NAMESPACE = "bench"
RENAMED = {"bench.truth": "bench.false-positives"}


@task(
    optional=["wait"],
    help={
        "trials": "comparisons of A with A, half of them beside a noisy neighbor, and as many with "
        "a planted difference; 200 take about 25 minutes",
        "resume": "continue an interrupted run",
        "wait": WAIT_HELP,
        "json": "print JSON",
        "update": "write the figures to lab/false_positives/",
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
    """Measure the false-positive and detection rates of `bench.ab` on this machine."""
    from json import dumps

    from lab import committed
    from lab.false_positives import experiment
    from lab.false_positives import trials as tallies
    from lab.machine import MachineMonitor
    from trimtab import tables
    from trimtab.cli._progress import shown

    progress, monitor = shown(quiet=json), MachineMonitor()
    run = experiment.run(trials, resume=resume, wait_s=parse_wait(wait), progress=progress)
    rows = tallies.rows(run.trials)
    if json:
        floor = run.floor.share
        print(dumps({**tallies.tally(rows), "floor": floor, "rows": rows}, indent=1))
    else:
        print(tables.text(tallies.page(rows)))
    if update:
        command = f"./inv bench.false-positives --trials {trials} --update"
        results = tallies.to_results(run.trials, run.floor.share, command, monitor.facts())
        progress.note(f"written: {committed.write(tallies.NAME, results)}")
