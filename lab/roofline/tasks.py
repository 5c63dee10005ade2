"""Times kernels and operators beside the limits of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.cli._options import WAIT_HELP, parse_wait

if TYPE_CHECKING:
    from trimtab.kernels import Kernel

from trimtab.cli._command import command, option

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
    wait: str = option(WAIT_HELP, bare=True)
    json: bool = option("print JSON", False)
    output: str = option("also write the table to this Markdown file")
    update: bool = option("write the shares of all kernels to lab/roofline/", False)


@command(KernelsOptions, engine=True)
def kernels(options: KernelsOptions) -> None:
    """Time every micro-kernel on layers of the zoo: GFLOP/s or GB/s, and share of the roofline."""
    from pathlib import Path

    from lab import committed
    from lab.exclusive import exclusive
    from lab.machine import MachineMonitor
    from lab.roofline import report
    from lab.roofline.measure import time_kernels, time_operators
    from trimtab import files, tables
    from trimtab.cli._progress import shown
    from trimtab.errors import UsageError

    if options.update and (options.operators or options.isa or options.family or options.network):
        raise UsageError(
            "an update writes all kernels on layers of all networks",
            hint="leave out --operators, --isa, --family and --network",
        )
    progress, monitor = shown(quiet=options.json), MachineMonitor()
    wait_s, rounds = parse_wait(options.wait), options.rounds
    if options.operators:
        with exclusive("bench.kernels", wait_s, progress):
            machine, operator_times = time_operators(options.operators, rounds, progress)
        text = report.operators_json(machine, operator_times) if options.json else ""
        page = report.operators_page(machine, operator_times)
    else:
        kernels = _select(options.isa, options.family)
        with exclusive("bench.kernels", wait_s, progress):
            machine, timed = time_kernels(
                kernels, options.network, options.layers, rounds, progress
            )
        text = report.kernels_json(machine, timed) if options.json else ""
        page = report.kernels_page(machine, timed)
    print(text or tables.text(page))
    if options.output:
        files.write_text(Path(options.output), tables.markdown(page) + "\n")
        progress.note(f"written: {options.output}")
    if options.update:
        command = f"./inv bench.kernels --layers {options.layers} --rounds {rounds} --update"
        results = report.to_results(machine, timed, command, monitor.facts())
        progress.note(f"written: {committed.write(report.NAME, results)}")


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
