"""Times kernels and operators beside the limits of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.options import TimedOptions
from trimtab.cli._command import command, group, option

if TYPE_CHECKING:
    from trimtab.kernels import Kernel

NAMESPACE = "bench"


@dataclass(frozen=True, kw_only=True)
class KernelsOptions:
    """Options of `bench.kernels`."""

    isa: tuple[str, ...] = option("only kernels of this instruction set (repeatable)", ())
    family: tuple[str, ...] = option("only this family, e.g. gemm (repeatable)", ())
    network: tuple[str, ...] = option(
        "zoo networks to take the layers from (repeatable; default: all)", ()
    )
    layers: int = option("maximum number of layers per kernel", 4)
    rounds: int = option("rounds of timings; the medians are shown", 11)
    operators: str = option(
        "instead, time the operators of this model file or zoo network in inferences"
    )
    output: str = option("also write the table to this Markdown file")
    results: TimedOptions = group(TimedOptions)


@command(KernelsOptions, engine=True)
def kernels(options: KernelsOptions) -> None:
    """Time every micro-kernel on layers of the zoo: GFLOP/s or GB/s, and share of the roofline."""
    from lab.experiment import TaskRun
    from lab.roofline import report
    from lab.roofline.measure import time_kernels, time_operators

    run, rounds = TaskRun(report.ROOFLINE, options), options.rounds
    if options.operators:
        with run.exclusive():
            machine, timed = time_operators(options.operators, rounds, run.progress)
        facts = report.operators_facts(machine, timed)
        page = report.operators_page(machine, timed)
        run.finish([], page, json=facts, output=options.output)
        return
    chosen = _select(options.isa, options.family)
    with run.exclusive():
        machine, kernel_times = time_kernels(
            chosen, options.network, options.layers, rounds, run.progress
        )
    run.finish(
        report.rows(kernel_times),
        report.kernels_page(machine, kernel_times),
        json=report.kernels_facts(machine, kernel_times),
        output=options.output,
        machine=report.limits(machine),
    )


def _select(isas: Sequence[str], families: Sequence[str]) -> list[Kernel]:
    """The selected kernels of this machine; UsageError for an unknown name."""
    from trimtab import kernels, schema
    from trimtab.errors import UsageError
    from trimtab.target import Target

    called = {name for op in schema.operators().values() for name in op.families}
    here = [
        k
        for k in kernels.inventory().values()
        if k.isa in Target.host().isas and k.family in called
    ]
    for names, available in ((isas, {k.isa for k in here}), (families, {k.family for k in here})):
        if unknown := sorted(set(names) - available):
            raise UsageError(
                f"no kernels of {', '.join(unknown)} on this machine",
                hint=f"use one of {', '.join(sorted(available))}",
            )
    chosen = [
        k
        for k in here
        if k.isa in (isas or Target.host().isas) and k.family in (families or called)
    ]
    if not chosen:
        raise UsageError(f"{', '.join(isas)} has no kernels of {', '.join(families)}")
    return chosen
