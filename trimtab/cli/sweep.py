"""Sweeps: many configurations, each built and measured once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._command import argument, command, option
from trimtab.cli._options import RESULTS_HELP

if TYPE_CHECKING:
    from pathlib import Path

    from trimtab.sweep.matrix import Sweep

GROUP = "Measure"


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """Options of `sweep`."""

    file: str = argument("a sweep's file, or demo, which comes with trimtab (docs/sweeps.md)")
    dry_run: bool = option(
        "list the cells, check models and samples, and estimate the duration; build nothing", False
    )
    resume: bool = option(
        "also repeat cells that ended as INFRA: their device was disconnected", False
    )
    scheduler: str = option("run on this dask cluster, tcp://host:8786 (trimtab[dask])")
    results: str = option(RESULTS_HELP)
    json: bool = option("print JSON", False)

    def validate(self) -> None:
        """SweepError for a file that is missing or invalid."""
        from trimtab.sweep import run

        run.read(run.find_file(self.file))


@command(SweepOptions, engine=True, short_options=False, continues=True)
def sweep(options: SweepOptions) -> None:
    """Build and measure every cell of a matrix of configurations; finished ones are skipped."""
    from trimtab.cli._progress import shown
    from trimtab.errors import SweepError
    from trimtab.results.folder import results_folder
    from trimtab.strict_json import dumps
    from trimtab.sweep import outcome_table, run
    from trimtab.sweep.dask_executor import DaskExecutor
    from trimtab.sweep.executor import LocalExecutor

    path, folder = run.find_file(options.file), results_folder(options.results)
    matrix = run.read(path)
    if options.dry_run:
        _list_cells(matrix, path, folder, json=options.json)
        return
    outcomes = run.run(
        matrix,
        path,
        folder,
        executor=DaskExecutor(options.scheduler) if options.scheduler else LocalExecutor(),
        resume=options.resume,
        progress=shown(quiet=options.json),
    )
    rows, axes = outcome_table.rows(outcomes, folder), outcome_table.varying(matrix.cells)
    if options.json:
        print(dumps({"name": matrix.name, "cells": rows}, indent=1))
    else:
        print(outcome_table.table(rows, axes).text())
        print(outcome_table.count(outcomes))
    failed = [outcome for outcome in outcomes if not outcome.is_good]
    if failed:
        all_failed = len(failed) == len(outcomes)
        what = (
            "no cell has a result"
            if all_failed
            else f"{len(failed)} of {len(outcomes)} cells failed"
        )
        raise SweepError(
            f"{what}; the first: {failed[0].cell}: {failed[0].status}: {failed[0].message}",
            where=str(path),
            hint="fix that and run the sweep again: finished cells stay; --resume for INFRA",
        )


def _list_cells(matrix: Sweep, path: Path, folder: Path, *, json: bool) -> None:
    from trimtab.cli._progress import shown
    from trimtab.errors import SweepError
    from trimtab.progress import format_duration
    from trimtab.strict_json import dumps
    from trimtab.sweep import dry_run, outcome_table

    listed, seconds = dry_run.survey(matrix, folder, shown(quiet=json))
    failing = [one for one in listed if one.problem]
    if json:
        cells = [
            {
                "configuration": one.cell.configuration,
                "inputs": {name: [*shape] for name, shape in one.inputs.items()},
                "status": one.status,
                "built": one.is_built,
                "problem": one.problem,
            }
            for one in listed
        ]
        print(dumps({"name": matrix.name, "cells": cells, "seconds": seconds}, indent=1))
    else:
        builds = len({one.cell.binary for one in listed if not (one.is_built or one.problem)})
        missing = sum(not (one.status or one.problem) for one in listed)
        print(dry_run.listing(listed).text())
        work = f"{missing} to measure, {builds} to build, about {format_duration(seconds)}"
        state = work if missing or failing else "all are measured"
        print(f"{outcome_table.format_cells(len(listed))}: {state}")
    if failing:
        raise SweepError(
            f"{len(failing)} of {outcome_table.format_cells(len(listed))} cannot be built; the "
            f"first: {failing[0].cell}: {failing[0].problem}",
            where=str(path),
            hint="fix that and list the cells again; --json has the problem of each cell",
        )
