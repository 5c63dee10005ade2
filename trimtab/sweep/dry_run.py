"""The dry run of a sweep: the state of its cells, and mistakes found before anything is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trimtab.pipeline import input_shapes
from trimtab.pipeline.preview import Previews
from trimtab.pipeline.recipe import Shapes
from trimtab.progress import SILENT, Progress
from trimtab.results import index
from trimtab.sweep.builds import BuildCache, recipe_of
from trimtab.sweep.campaign import newest, one_line
from trimtab.sweep.matrix import Cell, Sweep
from trimtab.sweep.outcome_table import varying
from trimtab.sweep.run import estimate
from trimtab.sweep.tuned_plans import known
from trimtab.tables import Column, Table


@dataclass(frozen=True)
class ListedCell:
    """A cell in a dry run. `status` is that of its record, "" if it has none; `inputs` are the
    shapes of the network's inputs. `problem`: why the cell cannot be built, "" if nothing is known
    against it.
    """

    cell: Cell
    status: str
    is_built: bool
    inputs: Shapes
    problem: str

    @property
    def state(self) -> str:
        """The state in a word or two: the record's status, or what has to be done."""
        if self.status:
            return self.status
        return "built" if self.is_built else "CANNOT BE BUILT" if self.problem else "to build"


def survey(
    sweep: Sweep, folder: Path, progress: Progress = SILENT
) -> tuple[list[ListedCell], float]:
    """The state of each cell, and an estimate of the seconds that the missing ones take.

    Reads the models and samples of cells that are not built, but computes nothing with them.
    """
    sweep, cache, previews = known(sweep), BuildCache(), Previews()
    records = newest(index.entries(folder))
    listed: list[ListedCell] = []
    missing_builds: dict[Cell, None] = {}
    missing_cells: list[Cell] = []
    with progress.step(f"check {sweep.name}", "cells") as step:
        for i, cell in enumerate(sweep.cells):
            step.update(i, len(sweep.cells))
            identity, status = cache.find(cell.binary), ""
            preview = previews.of(recipe_of(cell, Path(cell.model), cell.plan_file))
            problem = one_line(preview.error) if preview.error else ""
            if identity:
                entry = records.get(sweep.key(cell, *identity.hashes))
                status = entry.status if entry else ""
            elif not problem:
                missing_builds[cell.binary] = None
            if not status and not problem:
                missing_cells.append(cell)
            listed.append(ListedCell(cell, status, identity is not None, preview.inputs, problem))
    return listed, estimate(sweep, folder).seconds(missing_builds, missing_cells)


def listing(listed: Sequence[ListedCell]) -> Table:
    """One row per cell: the axes that vary, the samples, the shapes of its inputs, its state."""
    axes = [axis for axis in varying([item.cell for item in listed]) if axis != "input"]
    if "calibration" not in axes and any(item.cell.calibration for item in listed):
        axes.append("calibration")
    rows = [
        (
            *(item.cell.configuration.get(axis, "") for axis in axes),
            input_shapes.text(item.inputs),
            item.state,
        )
        for item in listed
    ]
    return Table([*map(Column, axes), Column("inputs"), Column("state")], rows)
