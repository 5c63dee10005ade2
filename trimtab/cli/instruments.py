"""The two exact instruments for code of ARM: counted instructions, and models of cores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import INPUT_HELP, PLAN_HELP, RESULTS_HELP, parse_inputs, read_plan

if TYPE_CHECKING:
    from trimtab.progress import Progress

NAMESPACE = "bench"
_CPU = "core to build for, e.g. cortex-a53 (docs/cores.md)"
_CHECK = "fail when a figure is over 2 % worse than the committed one"
_UPDATE = "commit to these figures: write them into bench/"


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network",
        "cpu": f"{_CPU}; a qemu device (./inv devices) must have it",
        "input": INPUT_HELP,
        "plan": PLAN_HELP,
        "results": RESULTS_HELP,
        "json": "print JSON",
        "check": _CHECK,
        "update": _UPDATE,
    },
)
@needs_engine
def instructions(
    _: Context,
    input: list[str],
    model: str,
    cpu: str = "cortex-a53",
    plan: str = "",
    results: str = "",
    json: bool = False,
    check: bool = False,
    update: bool = False,
) -> None:
    """Count executed instructions: per inference, per operator, of load and first inference."""
    from trimtab.workflow.bench import count_instructions
    from trimtab.workflow.build import Recipe
    from trimtab.workflow.progress import shown
    from trimtab.workflow.report import results_folder

    recipe = Recipe(model=model, cpu=cpu, shapes=parse_inputs(input), plan=read_plan(plan))
    progress = shown(quiet=json)
    counts = count_instructions(recipe, results_folder(results), progress)
    print(counts.to_json() if json else counts.table().text())
    _hold("instructions", counts.figures, check, update, progress)


@task(help={"cpu": _CPU, "json": "print JSON", "check": _CHECK, "update": _UPDATE})
def mca(
    _: Context,
    cpu: str = "cortex-a53",
    json: bool = False,
    check: bool = False,
    update: bool = False,
) -> None:
    """Model the inner loops on cores that LLVM knows: share of the FMA pipes' bound (llvm-19)."""
    from trimtab.instruments.mca import figures, model, table
    from trimtab.workflow.progress import shown

    progress = shown(quiet=json)
    found = model(cpu, progress)
    print(table(found).json() if json else table(found).text())
    _hold("mca", figures(found), check, update, progress)


def _hold(
    name: str, figures: Mapping[str, float], check: bool, update: bool, progress: Progress
) -> None:
    """Writes figures into a baseline, or holds them against it."""
    from trimtab.instruments import baseline

    if update:
        progress.note(f"written: {baseline.update(name, figures)}")
    if check:
        baseline.check(name, figures)
