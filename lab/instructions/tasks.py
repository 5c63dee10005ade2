"""The exact instruments: counted instructions, models of cores, bytes. Their figures do not depend
on a machine's load, so committed ones hold later ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from invoke.context import Context
from invoke.tasks import task

from trimtab.cli._engine import needs_engine
from trimtab.cli._options import (
    DEFAULT,
    INPUT_HELP,
    PLAN_HELP,
    PRECISE,
    PRECISION_HELP,
    PREFER_HELP,
    RESULTS_HELP,
    THREADS_HELP,
    WEIGHTS_HELP,
    defaults_of,
    help_of,
    parse_bytes,
    parse_calibration,
    parse_inputs,
    read_plan,
    with_options,
)

if TYPE_CHECKING:
    from trimtab.instruments.committed import Baseline, Results
    from trimtab.progress import Progress

NAMESPACE = "bench"
_CPU = "core to build for, e.g. cortex-a53 (docs/cores.md)"
_CHECK = "fail when a figure is over 2 % worse than the committed one"
_UPDATE = "commit to these figures: write them into bench/"


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network; default: the networks, cores and precisions of "
        "bench/instructions.json, of which --cpu and --precision choose some",
        "cpu": f"{_CPU}; a qemu device (./inv devices) must have it; default: cortex-a53",
        "input": INPUT_HELP,
        "plan": PLAN_HELP,
        "prefer": PREFER_HELP,
        "weights": WEIGHTS_HELP,
        "precision": PRECISION_HELP,
        **help_of(PRECISE),
        "results": RESULTS_HELP,
        "json": "print JSON",
        "check": _CHECK,
        "update": f"{_UPDATE}; takes none of the options that choose what is counted",
    },
)
@with_options(defaults_of(PRECISE))
@needs_engine
def instructions(
    _: Context,
    input: list[str],
    model: str = "",
    cpu: str = "",
    plan: str = "",
    prefer: str = "",
    weights: str = "",
    precision: str = "",
    results: str = "",
    json: bool = False,
    check: bool = False,
    update: bool = False,
    **given: Any,
) -> None:
    """Count executed instructions: per inference, per operator, of load and first inference."""
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.instruments import instructions
    from trimtab.pipeline.recipe import Recipe
    from trimtab.results.folder import results_folder
    from trimtab.workflow.counting import count_instructions

    if update and any((model, cpu, plan, prefer, weights, precision, *given.values())):
        raise UsageError(
            "what is committed are all of the networks, as the planner plans them",
            hint="leave out --model, --cpu, --plan, --prefer, --weights, --precision and "
            "--calibration",
        )
    wanted = [(model, cpu or "cortex-a53", precision)] if model else instructions.of(cpu, precision)
    progress = shown(quiet=json)
    counts = [
        count_instructions(
            Recipe(
                model=name,
                cpu=core,
                shapes=parse_inputs(input),
                plan=read_plan(plan, prefer, weights, kind),
                calibration=parse_calibration(given),
            ),
            results_folder(results),
            progress,
        )
        for name, core, kind in wanted
    ]
    if model:
        print(counts[0].to_json() if json else counts[0].table().text())
    else:
        totals = instructions.totals(counts)
        print(totals.json() if json else totals.text())
    found = instructions.to_results(counts, "./inv bench.instructions --update")
    _hold(instructions.BASELINE, found, check, update, progress)


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network; default: the networks of bench/instructions.json",
        "cpu": f"{_CPU}; a qemu device (./inv devices) must have it",
        "on": "core whose caches and pipes are modeled, where the binary runs on another one",
        "threads": THREADS_HELP,
        "l2": "size of the L2, e.g. 512K; default: the core's row",
        "dram": "GB per second of the board's memory; default: the core's row",
        "input": INPUT_HELP,
        "plan": PLAN_HELP,
        "prefer": PREFER_HELP,
        "weights": WEIGHTS_HELP,
        "precision": PRECISION_HELP,
        **help_of(PRECISE),
        "json": "print JSON",
        "check": _CHECK,
        "update": f"{_UPDATE}; takes nothing but --cpu",
    },
)
@with_options(defaults_of(PRECISE))
@needs_engine
def model(
    _: Context,
    input: list[str],
    model: str = "",
    cpu: str = "cortex-a53",
    on: str = "",
    threads: int = DEFAULT,
    l2: str = "",
    dram: float = 0.0,
    plan: str = "",
    prefer: str = "",
    weights: str = "",
    precision: str = "",
    json: bool = False,
    check: bool = False,
    update: bool = False,
    **given: Any,
) -> None:
    """Model an inference: cache misses and bytes of memory per operator, by simulation."""
    from trimtab import cores
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.instruments import instructions, timemodel
    from trimtab.pipeline.recipe import Recipe
    from trimtab.workflow.modeled import model_time

    others = (model, plan, prefer, weights, precision, on, l2, dram, *given.values())
    if update and (any(others) or threads != DEFAULT):
        raise UsageError(
            "what is committed are all of the networks, on the row as it is, with one thread",
            hint="leave out all but --cpu",
        )
    core = timemodel.with_board(cores.find(on or cpu), parse_bytes("l2", l2), dram or None)
    progress, chosen = shown(quiet=json), read_plan(plan, prefer, weights, precision, threads)
    found = [
        model_time(
            Recipe(
                model=name,
                cpu=cpu,
                shapes=parse_inputs(input),
                plan=chosen,
                calibration=parse_calibration(given),
            ),
            *(core, progress),
        )
        for name in ([model] if model else instructions.NETWORKS)
    ]
    if model:
        print(found[0].to_json() if json else found[0].table().text())
    else:
        table = timemodel.totals(found)
        print(table.json() if json else table.text())
    made = timemodel.to_results(found, f"./inv bench.model --cpu {core.name} --update")
    _hold(timemodel.BASELINE, made, check, update, progress)


@task(help={"cpu": _CPU, "json": "print JSON", "check": _CHECK, "update": _UPDATE})
def mca(
    _: Context,
    cpu: str = "cortex-a53",
    json: bool = False,
    check: bool = False,
    update: bool = False,
) -> None:
    """Model the inner loops on cores that LLVM knows: share of the FMA pipes' bound (llvm-19)."""
    from trimtab.cli._progress import shown
    from trimtab.instruments import mca

    progress = shown(quiet=json)
    found = mca.model(cpu, progress)
    print(mca.table(found).json() if json else mca.table(found).text())
    made = mca.to_results(found, f"./inv bench.mca --cpu {cpu} --update")
    _hold(mca.BASELINE, made, check, update, progress)


@task(
    iterable=["network", "cpu"],
    help={
        "network": "zoo network, or a profile of every operator: `full`, `float32` (repeatable; "
        "default: all)",
        "cpu": "core of one of the machines that sizes are kept for (repeatable; default: all)",
        "json": "print JSON",
        "check": _CHECK,
        "code": "instead: the bytes of each operator's and kernel's code, which the planner weighs",
        "update": f"{_UPDATE}; takes no --network and no --cpu",
    },
)
@needs_engine
def sizes(
    _: Context,
    network: list[str],
    cpu: list[str],
    json: bool = False,
    code: bool = False,
    check: bool = False,
    update: bool = False,
) -> None:
    """Weigh the trimmed runners and model files of the zoo's networks, for several machines."""
    from trimtab import zoo
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.instruments import sizes
    from trimtab.workflow.sizes import measure_code, weigh

    if update and (network or cpu):
        raise UsageError("what is committed is all of it", hint="leave out --network and --cpu")
    progress = shown(quiet=json)
    if code:
        found = measure_code(progress)
        print(sizes.code_table(found).json() if json else sizes.code_table(found).text())
        if update:
            sizes.commit_code(found)
        if check:
            sizes.check_code(found)
        return
    weighed = weigh(network or [*zoo.names(), *sizes.PROFILES], cpu, progress)
    print(sizes.table(weighed).json() if json else sizes.table(weighed).text())
    made = sizes.to_results(weighed, "./inv bench.sizes --update")
    _hold(sizes.BASELINE, made, check, update, progress)


@task(
    iterable=["network"],
    help={
        "network": "zoo network (repeatable; default: all)",
        "json": "print JSON",
        "check": _CHECK,
        "update": f"{_UPDATE}; takes no --network",
    },
)
@needs_engine
def plans(
    _: Context,
    network: list[str],
    json: bool = False,
    check: bool = False,
    update: bool = False,
) -> None:
    """Estimate the plans of the zoo's networks by the planner's measure, beside those of before."""
    from trimtab import zoo
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.instruments import plans
    from trimtab.workflow.plans import estimate

    if update and network:
        raise UsageError("what is committed is all of it", hint="leave out --network")
    progress = shown(quiet=json)
    found = estimate(network or zoo.names(), progress)
    print(plans.table(found).json() if json else plans.table(found).text())
    made = plans.to_results(found, "./inv bench.plans --update")
    _hold(plans.BASELINE, made, check, update, progress)


def _hold(
    baseline: Baseline, found: Results, check: bool, update: bool, progress: Progress
) -> None:
    """Commits to what was found, or holds it against what is committed."""
    from trimtab.instruments import committed

    if update:
        progress.note(f"written: {committed.write(baseline.name, found)}")
    if check:
        baseline.check(found.rows)
