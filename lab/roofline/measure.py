"""Times kernels and operators on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import trimtab
from lab.roofline import layers as roofline_layers
from lab.roofline import timing
from lab.roofline.machine import Machine
from lab.roofline.timing import Timed, TimedOperator
from trimtab import passes, zoo
from trimtab.kernels import Kernel
from trimtab.pipeline.resolve import load_program
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.progress import SILENT, Progress
from trimtab.target import Target


def time_kernels(
    chosen: Sequence[Kernel],
    networks: Sequence[str],
    layers: int,
    rounds: int,
    progress: Progress = SILENT,
) -> tuple[Machine, list[Timed]]:
    """Times kernels on layers of zoo networks (default: all), planned for each instruction set."""
    host = Target.host()
    targets = [
        replace(host, name=f"{host.arch} {isa}", isas=host.isas[: i + 1])
        for i, isa in enumerate(host.isas)
        if isa in {kernel.isa for kernel in chosen}
    ]
    programs = []
    names = networks or zoo.names()
    with progress.step("plan the networks", "networks") as step:
        for number, name in enumerate(names, 1):
            source = passes.optimize(load_program(name, progress=progress))
            programs += [planner.decide(source, target, Plan()) for target in targets]
            step.update(number, len(names), name)
    assigned = roofline_layers.assign(chosen, roofline_layers.collect(programs), layers)
    return timing.time_kernels(assigned, rounds, progress=progress)


def time_operators(
    model: str, rounds: int, progress: Progress = SILENT
) -> tuple[Machine, list[TimedOperator]]:
    """Times the operators of a model in inferences."""
    program = trimtab.optimize(load_program(model, progress=progress))
    return timing.time_operators(program, rounds, progress)
