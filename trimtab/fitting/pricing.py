"""The price of each way of the test bed: measured, fitted and modeled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from trimtab import kernels
from trimtab.cores import Core, Fit
from trimtab.fitting import bed
from trimtab.fitting.bed import Way
from trimtab.fitting.shapes import DrawnLayer
from trimtab.fitting.solve import Sample, rows
from trimtab.planner import cost, rounding
from trimtab.planner.fitted import Parts
from trimtab.planner.kernel_selection import KernelSelection
from trimtab.target import Target


@dataclass(frozen=True)
class TimedWay:
    """The cycles of a way with a number of threads."""

    way: Way
    threads: int
    cycles: float


@cache
def _selections(layer: DrawnLayer, target: Target, state: str) -> Mapping[str, KernelSelection]:
    return bed.variants(layer, target, bed.constant_bytes(state))


def parts(way: Way, target: Target) -> Parts:
    """The parts of a way's work on a target."""
    selection, kernel = (
        _selections(way.layer, target, way.state)[way.algorithm],
        kernels.kernel(way.kernel),
    )
    assert selection.algorithm
    work = selection.algorithm.work(selection.program, selection.op, kernel, target)
    return cost.parts_of(
        selection.program, selection.op, work, kernel, target, selection.constant_bytes
    )


def modeled(way: Way, target: Target) -> float:
    """Cycles by the planner: by the fit of the target's core, or by the cost model."""
    selection = _selections(way.layer, target, way.state)[way.algorithm]
    return selection.cost_with(kernels.kernel(way.kernel)).cycles


def is_exact_enough(way: Way, target: Target) -> bool:
    """Whether a plan of the default accuracy may compute a layer in this way."""
    error = _selections(way.layer, target, way.state)[way.algorithm].error()
    return error <= rounding.bound(rounding.ACCURACIES[0])


def fit(measured: Iterable[TimedWay], target: Target, facts: Fit) -> Core:
    """The target's core with a fit to the measured ways, and the other `facts` of it."""
    groups: dict[tuple[str, str, int], list[Sample]] = {}
    ratios = []
    plain = replace(target, core=replace(target.core, fit=None))
    measuring = replace(target, core=replace(target.core, fit=facts))
    for one in measured:
        machine = replace(plain, threads=one.threads)
        key = *one.way.group, one.threads
        work = parts(one.way, replace(measuring, threads=one.threads))
        groups.setdefault(key, []).append(Sample(work, one.cycles))
        ratios.append(math.log(one.cycles / modeled(one.way, machine)))
    scale = math.exp(sum(ratios) / len(ratios)) if ratios else 1.0
    return replace(
        target.core, fit=replace(facts, scale=float(f"{scale:.4g}"), kernels=rows(groups))
    )
