"""Models the time of an inference from simulated caches and modeled pipes."""

from __future__ import annotations

from typing import Any

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

NAMESPACE = "bench"


@task(
    iterable=["input"],
    help={
        "model": "model file or zoo network; default: the networks of lab/instructions/",
        "cpu": "core to build for, e.g. cortex-a53 (docs/cores.md); a qemu device (./inv devices) "
        "must emulate it",
        "on": "core whose caches and pipes are modeled; default: --cpu",
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
        "check": "fail when a figure is more than 2 % above the committed one",
        "update": "write the figures to lab/time_model/; takes only --cpu",
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
    from lab import committed
    from lab.instructions import counts
    from lab.time_model import figures
    from lab.time_model.simulate import model_time
    from trimtab import cores
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError
    from trimtab.pipeline.recipe import Recipe

    others = (model, plan, prefer, weights, precision, on, l2, dram, *given.values())
    if update and (any(others) or threads != DEFAULT):
        raise UsageError(
            "an update writes the networks of the zoo, for the unchanged core, with one thread",
            hint="leave out all options but --cpu",
        )
    core = figures.with_board(cores.find(on or cpu), parse_bytes("l2", l2), dram or None)
    progress, options = shown(quiet=json), read_plan(plan, prefer, weights, precision, threads)
    modeled = [
        model_time(
            Recipe(
                model=name,
                cpu=cpu,
                shapes=parse_inputs(input),
                plan=options,
                calibration=parse_calibration(given),
            ),
            *(core, progress),
        )
        for name in ([model] if model else counts.NETWORKS)
    ]
    if model:
        print(modeled[0].to_json() if json else modeled[0].table().text())
    else:
        table = figures.totals(modeled)
        print(table.json() if json else table.text())
    results = figures.to_results(modeled, f"./inv bench.model --cpu {core.name} --update")
    committed.hold(figures.BASELINE, results, check, update, progress)
