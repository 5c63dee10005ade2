"""Entry points of a sweep: find and read its file, and run it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from trimtab import paths, system, zoo
from trimtab.bench import archive
from trimtab.build.toolchain import find_toolchain
from trimtab.devices import find_device
from trimtab.errors import UsageError
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.resolve import find_target
from trimtab.pipeline.stores import sweep_store
from trimtab.planner.precision import has_f16_kernels
from trimtab.profile import find_profile
from trimtab.progress import SILENT, Progress
from trimtab.results import index
from trimtab.sweep import cell_log, matrix, revision
from trimtab.sweep.builds import build_durations, recipe_of
from trimtab.sweep.campaign import Campaign, CellOutcome
from trimtab.sweep.cell_log import LoggedCell
from trimtab.sweep.duration import DurationEstimate
from trimtab.sweep.executor import Executor
from trimtab.sweep.matrix import Cell, Sweep
from trimtab.sweep.measurements import ARMS
from trimtab.sweep.tuned_plans import with_tuned_plans

MAX_ARCHIVED = 400  # builds of earlier sweeps that the archive keeps


def find_file(name: str) -> Path:
    """The sweep's file: a path, or the name of a sweep that ships with trimtab.

    UsageError if there is neither.
    """
    path, folder = Path(name), paths.root() / "sweeps"
    if path.exists():
        return path
    shipped = {file.stem: file for file in sorted(folder.glob("*.toml"))}
    if name in shipped:
        return shipped[name]
    raise UsageError(
        "there is no such file, and no sweep of that name",
        where=name,
        hint=f"check the path; with trimtab come {', '.join(shipped)} (docs/sweeps.md)",
    )


def read(path: Path) -> Sweep:
    """The sweep of a file, its cells with the toolchain and core of their devices, and without what
    their precision does not use (`OF_PRECISION`).

    Raises UsageError for a mistake in the file, and the error of an unknown device, toolchain,
    profile, plan or core, before anything is built.
    """
    sweep = matrix.read(path)
    cells = []
    for cell in sweep.cells:
        recipe = Recipe(toolchain=cell.toolchain, cpu=cell.cpu).on_device(find_device(cell.device))
        resolved = dataclasses.replace(cell, toolchain=recipe.toolchain, cpu=recipe.cpu)
        cells.append(_checked(_of_half(resolved), path))
    _check_used(sweep.cells, cells, path)
    if too_large := [group for group in sweep.groups(cells) if len(group) > len(ARMS)]:
        raise UsageError(
            f"{len(too_large[0])} cells to compare with each other, at most {len(ARMS)} can be",
            where=str(path),
            hint="compare fewer axes",
        )
    return dataclasses.replace(sweep, cells=tuple(dict.fromkeys(cells)))


def _of_half(cell: Cell) -> Cell:
    """The cell with the precision or the stored weights that `half` stands for on its core."""
    if cell.precision != matrix.HALF:
        return cell
    if has_f16_kernels(find_target(cell.toolchain, cell.cpu)):
        return dataclasses.replace(cell, precision="f16")
    return dataclasses.replace(cell, precision="f32", weights="f16")


def _checked(cell: Cell, path: Path) -> Cell:
    """The cell without what its precision does not use; the error of a mistake in it."""
    if cell.model not in zoo.names() and not Path(cell.model).exists():
        raise UsageError(
            f"model {cell.model!r} is neither a file nor a network of the zoo",
            where=str(path),
            hint="paths are relative to the sweep's file; networks of the zoo: "
            + ", ".join(zoo.names()),
        )
    find_toolchain(cell.toolchain).core(cell.cpu)
    if cell.profile:
        find_profile(cell.profile)
    recipe = recipe_of(cell, Path(cell.model), cell.plan_file)
    calibration = recipe.calibration.for_plan(recipe.plan)
    calibration.check_values()
    return dataclasses.replace(cell, calibration=calibration.samples, budget=calibration.budget)


def _check_used(written: Sequence[Cell], cells: Sequence[Cell], path: Path) -> None:
    """UsageError for a value in the file that no cell's precision uses."""
    for axis in matrix.OF_PRECISION:
        used = {getattr(cell, axis) for cell in cells}
        if unused := {getattr(cell, axis) for cell in written} - used - {""}:
            raise UsageError(
                f"no cell uses the {axis} {min(unused)}",
                where=str(path),
                hint="samples are for f16, int8, mixed precision and smaller weights, a budget for "
                "mixed and auto: add such a `precision` or `weights`, or leave it out",
            )


def run(
    sweep: Sweep,
    path: Path,
    folder: Path,
    *,
    executor: Executor,
    resume: bool = False,
    progress: Progress = SILENT,
) -> list[CellOutcome]:
    """Builds and measures the missing cells of the sweep in the file `path`.

    Records go into `folder`. Arguments and errors as in `Campaign`.
    """
    sweep = with_tuned_plans(sweep, folder, progress)
    revisions = revision.of_both(paths.root(), path.resolve().parent)
    campaign = Campaign(
        sweep,
        executor,
        folder,
        resume,
        progress,
        revisions=revisions,
        is_still=bool(_devices(sweep, "local")),
        seconds_left=estimate(sweep, folder).seconds,
    )
    try:
        outcomes = campaign.run()
        keys = [(cell, campaign.key(cell)) for cell in sweep.cells]
        cells = [LoggedCell(key, sweep.series(c), c.configuration) for c, key in keys if key]
        if cells:
            cell_log.write(sweep.name, revisions, cells, folder)
        return outcomes
    finally:
        archive.trim(sweep_store(), max(MAX_ARCHIVED, len(sweep.cells)))


def estimate(sweep: Sweep, folder: Path) -> DurationEstimate:
    """A duration estimate for this sweep from the records in `folder` and the cached builds."""
    return DurationEstimate(
        sweep,
        index.entries(folder),
        build_durations(),
        system.usable_cpus(),
        _devices(sweep, "local"),
        _devices(sweep, "qemu_user"),
    )


def _devices(sweep: Sweep, transport: str) -> list[str]:
    devices = dict.fromkeys(cell.device for cell in sweep.cells)
    return [device for device in devices if find_device(device).transport == transport]
