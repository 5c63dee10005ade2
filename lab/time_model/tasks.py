"""Models the time of an inference from simulated caches and modeled pipes."""

from __future__ import annotations

from dataclasses import dataclass

from lab.options import CheckedOptions
from trimtab.cli._command import changed, command, group, option
from trimtab.cli._options import (
    INPUT_HELP,
    PlanOptions,
    PrecisionOptions,
    RecipeOptions,
    parse_bytes,
)

NAMESPACE = "bench"
_OF_A_ROW = {"model", "cpu", "precision", "threads"}  # options that tell rows apart


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Options of `bench.model`."""

    input: tuple[str, ...] = option(INPUT_HELP, ())
    model: str = option("model file or zoo network; default: the networks of lab/instructions/")
    cpu: str = option(
        "core to build for, e.g. cortex-a53 (docs/cores.md); a qemu device (./inv device) must "
        "emulate it",
        "cortex-a53",
    )
    on: str = option("core whose caches and pipes are modeled; default: --cpu")
    l2: str = option("size of the L2, e.g. 512K; default: the core's row")
    dram: float = option("GB per second of the board's memory; default: the core's row", 0.0)
    plan: PlanOptions = group(PlanOptions)
    results: CheckedOptions = group(CheckedOptions)
    precision: PrecisionOptions = group(PrecisionOptions)


@dataclass(frozen=True, kw_only=True)
class CardsOptions:
    """Options of `bench.cards`."""

    network: tuple[str, ...] = option("only this network (repeatable)", ())
    results: CheckedOptions = group(CheckedOptions)


@command(CardsOptions, engine=True)
def cards(options: CardsOptions) -> None:
    """Model networks on a Raspberry Pi 5, beside times that Arm and ncnn publish for it."""
    from lab.experiment import TaskRun
    from lab.time_model import cards

    run = TaskRun(cards.CARDS, options)
    networks = run.chosen("network", [network for network, _ in cards.PUBLISHED])
    pairs = [cards.row(*key, run.progress) for key in cards.PUBLISHED if key[0] in networks]
    run.finish([row for row, _ in pairs], versions=pairs[0][1].versions, notes=cards.NOTES)


@command(ModelOptions, engine=True)
def model(options: ModelOptions) -> None:
    """Model an inference: cache misses and bytes of memory per operator, by simulation."""
    from lab.experiment import TaskRun
    from lab.instructions import counts
    from lab.time_model import figures
    from lab.time_model.simulate import model_time
    from trimtab import cores
    from trimtab.errors import UsageError

    if options.results.update and changed(options).keys() - _OF_A_ROW - {"update", "check", "json"}:
        raise UsageError(
            "an update writes networks of the zoo, for unchanged cores and plans",
            hint="leave out all options but --model, --cpu, --precision and --threads",
        )
    cpu, run = options.cpu, TaskRun(figures.TIME_MODEL, options)
    core = figures.with_board(
        cores.find(options.on or cpu), parse_bytes("l2", options.l2), options.dram or None
    )
    modeled = [
        model_time(
            RecipeOptions.of(options, model=name).read(
                options.plan.read(), options.precision.read(), cameras=False, views=False
            ),
            core,
            run.progress,
        )
        for name in ([options.model] if options.model else counts.NETWORKS)
    ]
    versions = {name: version for one in modeled for name, version in one.versions.items()}
    run.finish(
        [one.row() for one in modeled],
        [modeled[0].table()] if options.model else (),
        json=modeled[0].facts() if options.model else None,
        versions=versions,
        notes=[figures.NOTE],
    )
