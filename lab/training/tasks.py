"""Measures training beside PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option
from trimtab.cli._options import WAIT_HELP, parse_wait

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class MeasuredTrainingOptions:
    """Options of `bench.training`."""

    training: tuple[str, ...] = option("training by its name (repeatable; default: all)", ())
    rounds: int = option("interleaved rounds of steps", 10)
    python: str = option("interpreter that has PyTorch; default: this one")
    wait: str = option(WAIT_HELP, bare=True)
    json: bool = option("print JSON", False)
    update: bool = option("write the figures to lab/training/; takes no --training", False)


@command(MeasuredTrainingOptions, engine=True)
def training(options: MeasuredTrainingOptions) -> None:
    """Measure training steps beside PyTorch: time, share of the products, memory."""
    import sys
    from dataclasses import asdict

    from lab import committed
    from lab.exclusive import exclusive
    from lab.machine import MachineMonitor
    from lab.training import measure
    from lab.training.networks import TRAININGS
    from trimtab import strict_json, tables
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError

    if options.update and options.training:
        raise UsageError("an update writes all trainings", hint="leave out --training")
    if unknown := sorted({*options.training} - {*TRAININGS}):
        hint = f"use {', '.join(TRAININGS)}"
        raise UsageError(f"unknown trainings: {', '.join(unknown)}", hint=hint)
    progress, monitor = shown(quiet=options.json), MachineMonitor()
    chosen, python = options.training or [*TRAININGS], options.python or sys.executable
    with exclusive("bench.training", parse_wait(options.wait), progress):
        figures, torch = measure.measure(python, chosen, options.rounds, progress)
    if options.json:
        print(strict_json.dumps([asdict(of_one) for of_one in figures], indent=1))
    else:
        print(tables.text([measure.table(figures)]))
    if options.update:
        line = f"./inv bench.training --rounds {options.rounds} --python TORCH/bin/python --update"
        results = measure.to_results(figures, torch, line, monitor.facts())
        progress.note(f"written: {committed.write(measure.NAME, results)}")
