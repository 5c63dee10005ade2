"""Counts the instructions of a model's binary under QEMU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trimtab import cores
from trimtab.bench.jobs import Settings
from trimtab.devices import list_devices
from trimtab.errors import UsageError
from trimtab.instruments.instructions import Counts
from trimtab.pipeline.measured import bench
from trimtab.pipeline.recipe import Measurement, Recipe
from trimtab.progress import SILENT, Progress
from trimtab.results import records, summary


def count_instructions(recipe: Recipe, folder: Path, progress: Progress = SILENT) -> Counts:
    """Build a model for the recipe's core and count what its binary executes, under QEMU; the run
    is recorded into `folder`.

    UsageError when no emulated device has that core; raises whatever ends the run, too.
    """
    measurement = Measurement(emulated_device(recipe.cpu), Settings(per_op=True), folder)
    outcome = bench(replace(recipe, measurement=measurement), progress).outcome
    if outcome.error is not None:
        raise outcome.error
    run = summary.summarize(records.read(outcome.path))
    return Counts.of(run, recipe.plan.precision)


def emulated_device(cpu: str) -> str:
    """The name of the device that plays the core `cpu` under QEMU; UsageError without one."""
    core = cores.find(cpu).name
    known = {d.cpu: d.name for d in list_devices() if d.transport == "qemu_user" and d.cpu}
    if core not in known:
        raise UsageError(
            f"no emulated device is for the core {core!r}", hint=f"known: {', '.join(known)}"
        )
    return known[core]
