"""The work of cluster workers in tests: that of `FakeWork`, and each call adds a line to a log."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.sweep.fakes import FakeWork
from trimtab.sweep.builds import BuildTask, CellBuild
from trimtab.sweep.measurements import CellRecord, MeasureTask


def _log(text: str) -> None:
    with (Path(os.environ["SWEEP_SCRATCH"]) / "log").open("a") as log:
        log.write(f"{os.getpid()} {text}\n")


def build_cell(task: BuildTask) -> CellBuild:
    """Takes no time."""
    _log(f"build {task.cell}")
    return FakeWork(Path(os.environ["SWEEP_SCRATCH"])).build_cell(task)


def measure_cells(task: MeasureTask) -> tuple[CellRecord, ...]:
    """Takes long enough for the worker to be killed."""
    cell = task.cells[0].cell
    _log(f"begin {cell}")
    time.sleep(0.4)
    records = FakeWork(Path(os.environ["SWEEP_SCRATCH"])).measure_cells(task)
    _log(f"end {cell}")
    return records
