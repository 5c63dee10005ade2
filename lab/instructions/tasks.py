"""Counts the executed instructions of the zoo's networks, and checks them against the baseline."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import CheckedOptions
from trimtab.cli._command import command, group, option

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class ZooInstructionsOptions:
    """Options of `bench.zoo-instructions`."""

    network: tuple[str, ...] = option("only counts of this network (repeatable)", ())
    cpu: str = option("only counts for this core")
    precision: str = option("only counts in this precision")
    results: CheckedOptions = group(CheckedOptions)


@command(ZooInstructionsOptions, engine=True)
def zoo_instructions(options: ZooInstructionsOptions) -> None:
    """Count executed instructions of the zoo's networks, beside the committed counts."""
    from lab.experiment import TaskRun
    from lab.instructions import counts
    from trimtab.pipeline.instructions import count_instructions
    from trimtab.pipeline.recipe import Recipe
    from trimtab.planner.plan_file import Plan
    from trimtab.results.folder import results_folder

    run, folder = TaskRun(counts.INSTRUCTIONS, options), results_folder()
    counted = [
        count_instructions(
            Recipe(model=network, cpu=cpu, plan=Plan(precision=precision)), folder, run.progress
        )
        for network, cpu, precision in counts.select(
            options.network, options.cpu, options.precision
        )
    ]
    versions = {name: version for one in counted for name, version in one.versions.items()}
    run.finish([counts.row(one) for one in counted], versions=versions)
