"""Times kernels and operators beside the limits of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from invoke.context import Context

from trimtab.cli._command import task
from trimtab.cli._engine import needs_engine
from trimtab.cli._options import WAIT_HELP, parse_wait

if TYPE_CHECKING:
    from trimtab.kernels import Kernel

NAMESPACE = "bench"


@task(
    iterable=["isa", "family", "network"],
    optional=["wait"],
    help={
        "isa": "only kernels of this instruction set (repeatable)",
        "family": "only this family, e.g. gemm (repeatable)",
        "network": "zoo networks to take the layers from (repeatable; default: all)",
        "layers": "maximum number of layers per kernel",
        "rounds": "rounds of timings; the medians are shown",
        "operators": "instead, time the operators of this model file or zoo network in inferences",
        "wait": WAIT_HELP,
        "json": "print JSON",
        "output": "also write the table to this Markdown file",
        "update": "write the shares of all kernels to lab/roofline/",
    },
)
@needs_engine
def kernels(
    _: Context,
    isa: list[str],
    family: list[str],
    network: list[str],
    layers: int = 4,
    rounds: int = 11,
    operators: str = "",
    wait: str = "",
    json: bool = False,
    output: str = "",
    update: bool = False,
) -> None:
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

    if update and (operators or isa or family or network):
        raise UsageError(
            "an update writes all kernels on layers of all networks",
            hint="leave out --operators, --isa, --family and --network",
        )
    progress, monitor = shown(quiet=json), MachineMonitor()
    if operators:
        with exclusive("bench.kernels", parse_wait(wait), progress):
            machine, operator_times = time_operators(operators, rounds, progress)
        text = report.operators_json(machine, operator_times) if json else ""
        page = report.operators_page(machine, operator_times)
    else:
        chosen = _choose(isa, family)
        with exclusive("bench.kernels", parse_wait(wait), progress):
            machine, timed = time_kernels(chosen, network, layers, rounds, progress)
        text = report.kernels_json(machine, timed) if json else ""
        page = report.kernels_page(machine, timed)
    print(text or tables.text(page))
    if output:
        files.write_text(Path(output), tables.markdown(page) + "\n")
        progress.note(f"written: {output}")
    if update:
        command = f"./inv bench.kernels --layers {layers} --rounds {rounds} --update"
        results = report.to_results(machine, timed, command, monitor.facts())
        progress.note(f"written: {committed.write(report.NAME, results)}")


def _choose(isas: list[str], families: list[str]) -> list[Kernel]:
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
