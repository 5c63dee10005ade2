"""Cells with `plan = "tuned"`: their plan is measured on their device before the sweep builds."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

from trimtab import files, paths, strict_json
from trimtab.errors import TrimtabError
from trimtab.pipeline.resolve import model_path
from trimtab.progress import SILENT, Progress
from trimtab.sweep.builds import recipe_of, source_hash
from trimtab.sweep.matrix import TUNED, Cell, Sweep
from trimtab.tuning.tuned import TIMINGS, TuneRequest, tune


def known(sweep: Sweep) -> Sweep:
    """The sweep with the plan files of the cells that were tuned before, by these sources."""
    cells = []
    for cell in sweep.cells:
        file = _file(cell) if cell.plan == TUNED else None
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
            result = tune(request, folder, progress)
            files.write_text(_file(cell), result.plan.to_toml(result.title()))
        except TrimtabError as error:
            progress.note(f"{cell}: not tuned: {error}")
    return known(sweep)


def _file(cell: Cell) -> Path:
    """The plan file of a cell. Its name is the axis' value, so that the configuration of a cell is
    the same before and after.
    """
    model = files.sha256(model_path(cell.model))
    facts = [source_hash(), {**cell.configuration, "plan": TUNED}, model]
    name = hashlib.sha256(strict_json.dumps(facts, sort_keys=True).encode()).hexdigest()[:24]
    return paths.cache() / "sweep" / "tuned" / name / TUNED
