"""Executed instructions under QEMU: exact, whatever the load of the machine."""

from __future__ import annotations

from typing import Any

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import (
    INPUT_HELP,
    PLAN_HELP,
    PRECISE,
    PRECISION_HELP,
    PREFER_HELP,
    RESULTS_HELP,
    WEIGHTS_HELP,
    defaults_of,
    help_of,
    parse_calibration,
    parse_inputs,
    read_plan,
    with_options,
)

GROUP = "Measure"
NAMESPACE = "bench"


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network",
        "cpu": "core to build for, e.g. cortex-a53 (docs/cores.md); a qemu device (./inv devices) "
        "must emulate it",
        "input": INPUT_HELP,
        "plan": PLAN_HELP,
        "prefer": PREFER_HELP,
        "weights": WEIGHTS_HELP,
        "precision": PRECISION_HELP,
        **help_of(PRECISE),
        "results": RESULTS_HELP,
        "json": "print JSON",
    },
)
@with_options(defaults_of(PRECISE))
@needs_engine
def instructions(
    _: Context,
    model: str,
    input: list[str],
    cpu: str = "cortex-a53",
    plan: str = "",
    prefer: str = "",
    weights: str = "",
    precision: str = "",
    results: str = "",
    json: bool = False,
    **given: Any,
) -> None:
    """Count executed instructions: per inference, per operator, of loading and first inference."""
    from trimtab.cli._progress import shown
    from trimtab.pipeline.instructions import count_instructions
    from trimtab.pipeline.recipe import Recipe
    from trimtab.results.folder import results_folder

    recipe = Recipe(
        model=model,
        cpu=cpu,
        shapes=parse_inputs(input),
        plan=read_plan(plan, prefer, weights, precision),
        calibration=parse_calibration(given),
    )
    counts = count_instructions(recipe, results_folder(results), shown(quiet=json))
    print(counts.to_json() if json else counts.table().text())
