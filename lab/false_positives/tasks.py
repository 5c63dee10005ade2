"""Measures the false-positive and detection rates of `bench.ab`."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.cli._options import WAIT_HELP, parse_wait

NAMESPACE = "bench"
RENAMED = {"bench.truth": "bench.false-positives"}


@dataclass(frozen=True, kw_only=True)
class TrialOptions:
    """Options of `bench.false-positives`."""

    trials: int = option(
        "comparisons of A with A, half of them beside a noisy neighbor, and as many with a planted "
        "difference; 200 take about 25 minutes",
        200,
    )
    resume: bool = option("continue an interrupted run", False)
    wait: str = option(WAIT_HELP, bare=True)
    json: bool = option("print JSON", False)
    update: bool = option("write the figures to lab/false_positives/", False)


@command(TrialOptions, engine=True)
def false_positives(options: TrialOptions) -> None:
    """Measure the false-positive and detection rates of `bench.ab` on this machine."""
    from lab import committed
    from lab.false_positives import experiment, trials
    from lab.machine import MachineMonitor
    from trimtab import strict_json, tables
    from trimtab.cli._progress import shown

    progress, monitor = shown(quiet=options.json), MachineMonitor()
    wait_s = parse_wait(options.wait)
    run = experiment.run(options.trials, resume=options.resume, wait_s=wait_s, progress=progress)
    rows = trials.rows(run.trials)
    if options.json:
        floor = run.floor.share
        print(strict_json.dumps({**trials.tally(rows), "floor": floor, "rows": rows}, indent=1))
    else:
        print(tables.text(trials.page(rows)))
    if options.update:
        command = f"./inv bench.false-positives --trials {options.trials} --update"
        results = trials.to_results(run.trials, run.floor.share, command, monitor.facts())
        progress.note(f"written: {committed.write(trials.NAME, results)}")
