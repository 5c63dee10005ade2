"""Cells with `plan = "tuned"`: their plan is measured on their device before the sweep builds."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path

from trimtab import files, paths
from trimtab.errors import TrimtabError
from trimtab.progress import SILENT, Progress
from trimtab.sweep import inputs
from trimtab.sweep.builds import recipe_of
from trimtab.sweep.matrix import TUNED, Cell, Sweep
from trimtab.tuning.tuned import TIMINGS, TuneRequest, tune


def known(sweep: Sweep) -> Sweep:
    """The sweep with the plan files of the cells that were tuned before, by these sources."""
    cells, sources = [], inputs.source_hash()
    for cell in sweep.cells:
        file = None
        if cell.plan == TUNED:
            with contextlib.suppress(TrimtabError):  # the build reports it
                file = plan_file(cell, sources)
        is_tuned = file is not None and file.is_file()
        cells.append(dataclasses.replace(cell, plan=str(file)) if is_tuned else cell)
    return dataclasses.replace(sweep, cells=tuple(cells))


def with_tuned_plans(sweep: Sweep, folder: Path, progress: Progress = SILENT) -> Sweep:
    """The sweep with a plan file for every cell; timings and runs of tuning go into `folder`.

    A cell whose tuning fails keeps its plan, so that its build fails; the error is a note.
    """
    for cell in known(sweep).cells:
        if cell.plan != TUNED:
            continue
        request = TuneRequest(
            recipe=recipe_of(cell, Path(cell.model), None),
            device=cell.device,
            timings=folder / TIMINGS,
            settings=sweep.protocol.settings.counted(),
        )
        try:
            file = plan_file(cell, inputs.source_hash())  # of the model as it is before
            result = tune(request, folder, progress)
            files.write_text(file, result.plan.to_toml(result.title()))
        except TrimtabError as error:
            progress.note(f"{cell}: not tuned: {error}")
    return known(sweep)


def plan_file(cell: Cell, sources: str) -> Path:
    """The plan file of a cell. Its name is the axis' value, so that the configuration of a cell is
    the same before and after.
    """
    key = inputs.digest(dataclasses.replace(cell, plan=TUNED), sources)
    return paths.cache() / "sweep" / "tuned" / key[:24] / TUNED
