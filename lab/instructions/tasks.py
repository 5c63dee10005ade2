"""Counts the executed instructions of the zoo's networks, and checks them against the baseline."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.cli._command import command, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class ZooInstructionsOptions:
    """Options of `bench.zoo-instructions`."""

    network: tuple[str, ...] = option("only counts of this network (repeatable)", ())
    cpu: str = option("only counts for this core")
    precision: str = option("only counts in this precision")
    json: bool = option("print JSON", False)
    check: bool = option("fail when a figure is more than 2 % above the committed one", False)
    update: bool = option("write the figures to lab/instructions/; a selection only its own", False)


@command(ZooInstructionsOptions, engine=True)
def zoo_instructions(options: ZooInstructionsOptions) -> None:
    """Count executed instructions of the zoo's networks, beside the committed counts."""
    from lab import committed
    from lab.instructions import counts
    from trimtab.cli._progress import shown
    from trimtab.pipeline.instructions import count_instructions
    from trimtab.pipeline.recipe import Recipe
    from trimtab.planner.plan_file import Plan
    from trimtab.results.folder import results_folder

    progress, folder = shown(quiet=options.json), results_folder()
    counted = [
        count_instructions(
            Recipe(model=network, cpu=cpu, plan=Plan(precision=precision)), folder, progress
        )
        for network, cpu, precision in counts.select(
            options.network, options.cpu, options.precision
        )
    ]
    table = counts.totals(counted)
    print(table.json() if options.json else table.text())
    results = counts.to_results(counted, "./inv bench.zoo-instructions --update")
    if options.update and (options.network or options.cpu or options.precision):
        results = counts.BASELINE.merged(results)
    committed.hold(counts.BASELINE, results, options.check, options.update, progress)
