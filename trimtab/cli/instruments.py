"""The two exact instruments for code of ARM: counted instructions, and models of cores."""

from __future__ import annotations

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli.model import PLAN_HELP

NAMESPACE = "bench"
_CPU = "core to build for, e.g. cortex-a53 (docs/cores.md)"
_CHECK = "fail when a figure is over 2 % worse than the committed one"
_UPDATE = "commit to these figures: write them into bench/"


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network",
        "cpu": f"{_CPU}; a qemu device (./inv devices) must have it",
        "input": "shape of a free input: NAME=1,3,224,224 (repeatable)",
        "plan": PLAN_HELP,
        "results": "folder of the runs (default: results/)",
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
    from trimtab.cli.model import parse_inputs, read_plan
    from trimtab.instruments import baseline
    from trimtab.workflow.instructions import count_instructions
    from trimtab.workflow.progress import say
    from trimtab.workflow.report import results_folder

    counts = count_instructions(
        model,
        cpu,
        parse_inputs(input),
        results_folder(results),
        say,
        read_plan(plan),
    )
    print(counts.to_json() if json else counts.as_table().text())
    figures = {f"{counts.model} {counts.cpu}": float(counts.instructions_per_inference)}
    if update:
        say(f"written: {baseline.update('instructions', figures)}")
    if check:
        baseline.check("instructions", figures)


@task(help={"cpu": _CPU, "json": "print JSON", "check": _CHECK, "update": _UPDATE})
def mca(
    _: Context,
    cpu: str = "cortex-a53",
    json: bool = False,
    check: bool = False,
    update: bool = False,
) -> None:
    """Model the inner loops on cores that LLVM knows: share of the FMA pipes' bound (llvm-19)."""
    from trimtab.instruments import baseline
    from trimtab.instruments.mca import figures, model, table
    from trimtab.workflow.progress import say

    found = model(cpu)
    print(table(found).json() if json else table(found).text())
    kept = figures(found)
    if update:
        say(f"written: {baseline.update('mca', kept)}")
    if check:
        baseline.check("mca", kept)
