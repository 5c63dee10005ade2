"""Measures training beside PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import TimedOptions
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class MeasuredTrainingOptions:
    """Options of `bench.training`."""

    training: tuple[str, ...] = option("training by its name (repeatable; default: all)", ())
    rounds: int = option("interleaved rounds of steps", 10)
    python: str = option("interpreter that has PyTorch; default: this one")
    results: TimedOptions = group(TimedOptions)


@command(MeasuredTrainingOptions, engine=True)
def training(options: MeasuredTrainingOptions) -> None:
    """Measure training steps beside PyTorch: time, share of the products, memory."""
    import sys

    from lab.experiment import TaskRun
    from lab.training.measure import TRAINING, measure
    from lab.training.networks import TRAININGS

    run = TaskRun(TRAINING, options)
    chosen, python = run.chosen("training", TRAININGS), options.python or sys.executable
    with run.exclusive():
        rows, versions = measure(python, chosen, options.rounds, run.progress)
    run.finish(rows, versions=versions)
