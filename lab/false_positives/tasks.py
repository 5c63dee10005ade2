"""Measures the false-positive and detection rates of `bench.ab`."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import TimedOptions
from trimtab.cli._command import command, group, option
from trimtab.cli._options import parse_wait

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
    results: TimedOptions = group(TimedOptions)


@command(TrialOptions, engine=True)
def false_positives(options: TrialOptions) -> None:
    """Measure the false-positive and detection rates of `bench.ab` on this machine."""
    from lab.experiment import TaskRun
    from lab.false_positives import experiment, trials

    run = TaskRun(trials.TRIALS, options)
    wait_s = parse_wait(options.results.wait)
    done = experiment.run(
        options.trials, resume=options.resume, wait_s=wait_s, progress=run.progress
    )
    rows, floor = trials.rows(done.trials), done.floor.share
    note = f"The machine's noise floor, from a calibration before the trials, was {floor:.2%}."
    facts = {**trials.tally(rows), "floor": floor, "rows": [row.record() for row in rows]}
    run.finish(rows, trials.page(rows), json=facts, notes=[note])
