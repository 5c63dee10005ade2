"""Counts the executed instructions of the zoo's networks, and checks them against the baseline."""

from __future__ import annotations

from invoke.context import Context

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine

NAMESPACE = "bench"


@task(
    iterable=["network"],
    help={
        "network": "only counts of this network (repeatable)",
        "cpu": "only counts for this core",
        "precision": "only counts in this precision",
        "json": "print JSON",
        "check": "fail when a figure is more than 2 % above the committed one",
        "update": "write the figures to lab/instructions/; takes no selection",
    },
)
@needs_engine
def zoo_instructions(
    _: Context,
    network: list[str],
    cpu: str = "",
    precision: str = "",
    json: bool = False,
    check: bool = False,
    update: bool = False,
) -> None:
    """Count executed instructions of the zoo's networks, beside the committed counts."""
    from lab import committed
    from lab.instructions import counts
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.instructions import count_instructions
    from trimtab.pipeline.recipe import Recipe
    from trimtab.pipeline.resolve import read_plan
    from trimtab.results.folder import results_folder

    if update and (network or cpu or precision):
        raise UsageError(
            "an update writes all counts", hint="leave out --network, --cpu and --precision"
        )
    progress, results = shown(quiet=json), results_folder("")
    counted = [
        count_instructions(
            Recipe(model=name, cpu=core, plan=read_plan("", precision=kind)), results, progress
        )
        for name, core, kind in counts.select(network, cpu, precision)
    ]
    table = counts.totals(counted)
    print(table.json() if json else table.text())
    content = counts.to_results(counted, "./inv bench.zoo-instructions --update")
    committed.hold(counts.BASELINE, content, check, update, progress)
