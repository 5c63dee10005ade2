"""What workers of a cluster do in tests: as `Shop`, and each call leaves a line in a log."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.sweep.fakes import Shop
from trimtab.sweep.tasks import BuildTask, Built, Measured, MeasureTask


def _log(what: str) -> None:
    with (Path(os.environ["SWEEP_SCRATCH"]) / "log").open("a") as log:
        log.write(f"{os.getpid()} {what}\n")


def build(task: BuildTask) -> Built:
    """Takes no time."""
    _log(f"build {task.cell}")
    return Shop(Path(os.environ["SWEEP_SCRATCH"]))._build(task)


def measure(task: MeasureTask) -> tuple[Measured, ...]:
    """Takes a while, in which the worker may be killed."""
    cell = task.candidates[0].cell
    _log(f"begin {cell}")
    time.sleep(0.4)
    measured = Shop(Path(os.environ["SWEEP_SCRATCH"]))._measure(task)
    _log(f"end {cell}")
    return measured


class ClusterShop(Shop):
    """A shop whose work is done elsewhere."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.build, self.measure, self.quiet = build, measure, ""
