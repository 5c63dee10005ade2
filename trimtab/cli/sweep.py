"""Many configurations, each built and measured once."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import RESULTS_HELP

GROUP = "Measure"


@task(
    positional=["file"],
    auto_shortflags=False,
    help={
        "file": "a sweep's file, or demo: one that comes with trimtab (docs/sweeps.md)",
        "dry-run": "list the cells, and about how long they take; nothing is built or measured",
        "resume": "also measure anew what ended as INFRA: cells whose device was lost",
        "scheduler": "do the work on this dask cluster, tcp://host:8786 (trimtab[dask])",
        "results": RESULTS_HELP,
        "json": "print JSON",
    },
)
@needs_engine
def sweep(
    _: Context,
    file: str,
    dry_run: bool = False,
    resume: bool = False,
    scheduler: str = "",
    results: str = "",
    json: bool = False,
) -> None:
    """Build and measure every cell of a matrix of configurations; finished ones are skipped."""
    from json import dumps

    from trimtab.cli._progress import shown
    from trimtab.errors import SweepError
    from trimtab.results.folder import results_folder
    from trimtab.sweep import run as workflow
    from trimtab.sweep import summary
    from trimtab.sweep.campaign import duration
    from trimtab.sweep.cluster import Cluster
    from trimtab.sweep.executor import Local

    path, folder, progress = workflow.find(file), results_folder(results), shown(quiet=json)
    matrix = workflow.read(path)
    if dry_run:
        listed, seconds = workflow.survey(matrix, path, folder)
        if json:
            cells = [
                {"configuration": x.cell.configuration, "status": x.status, "built": x.is_built}
                for x in listed
            ]
            print(dumps({"name": matrix.name, "cells": cells, "seconds": seconds}, indent=1))
            return
        builds = len({x.cell.binary for x in listed if not x.is_built})
        missing = sum(not x.status for x in listed)
        print(workflow.listing(listed).text())
        left = f"{missing} to be measured, {builds} builds, about {duration(seconds)}"
        print(f"{summary.cells_said(len(listed))}: {left if missing else 'all are measured'}")
        return
    executor = Cluster(scheduler) if scheduler else Local()
    outcomes = workflow.run(
        matrix, path, folder, executor=executor, resume=resume, progress=progress
    )
    rows, axes = summary.rows(outcomes, folder), summary.varying(matrix.cells)
    if json:
        print(dumps({"name": matrix.name, "cells": rows}, indent=1))
    else:
        print(summary.table(rows, axes).text())
        print(summary.count(outcomes))
    failed = [outcome for outcome in outcomes if not outcome.is_good]
    if failed:
        none = len(failed) == len(outcomes)
        what = "no cell has a result" if none else f"{len(failed)} of {len(outcomes)} cells failed"
        raise SweepError(
            f"{what}; the first: {failed[0].cell}: {failed[0].status}: {failed[0].message}",
            where=str(path),
            hint="mend that and run it again: what is measured stays; --resume for INFRA",
        )
