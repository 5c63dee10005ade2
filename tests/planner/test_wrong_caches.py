"""Plans for a cache that is believed 16 times too large or too small, priced with the real one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from trimtab import cores, passes
from trimtab.cores import Cache, Core
from trimtab.pipeline.resolve import load_program
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.program import Program
from trimtab.target import Target

_MOST = 1.10  # a wrong belief costs at most this, in modeled cycles of the real core


@cache
def _optimized(network: str) -> Program:
    return passes.optimize(load_program(network))


def _scaled(core: Core, factor: float) -> Core:
    """`core` with other sizes of the caches behind the first level."""

    def size(level: Cache) -> Cache:
        return replace(level, bytes=int(level.bytes * factor))

    return replace(core, l2=size(core.l2), l3=core.l3 and size(core.l3))


def _regret(network: str, target: Target, believed: Core) -> float:
    program, wrong = _optimized(network), replace(target, core=believed)
    plans = [planner.decide(program, machine, Plan()) for machine in (wrong, target)]
    mistaken, right = (planner.total_cycles(plan, target) for plan in plans)
    return mistaken / right


@pytest.mark.parametrize("factor", [16, 1 / 16])
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("cpu", ["generic", "zen4", "sapphirerapids"])
@pytest.mark.parametrize("network", ["mobilenet_v2", "resnet18", "yolov3_tiny"])
def test_a_wrong_cache_costs_little_on_x86(
    network: str, cpu: str, threads: int, factor: float
) -> None:
    target = replace(Target.of("x86_64", cpu), threads=threads)
    assert _regret(network, target, _scaled(target.core, factor)) <= _MOST


@pytest.mark.parametrize("factor", [16, 1 / 16])
@pytest.mark.parametrize("cpu", ["generic", "cortex-a53", "cortex-a76"])
@pytest.mark.parametrize("network", ["mobilenet_v2", "resnet18"])
def test_a_wrong_cache_costs_little_on_arm(network: str, cpu: str, factor: float) -> None:
    target = Target.of("aarch64", cpu)
    assert _regret(network, target, _scaled(target.core, factor)) <= _MOST


@pytest.mark.parametrize("network", ["resnet18", "yolov3_tiny"])
def test_a_virtual_machines_claim_of_480_megabytes_costs_little(network: str) -> None:
    target = Target.of("x86_64", "sapphirerapids")
    claimed = replace(target.core, l3=cores.likely(Cache(480 << 20, 16, 64, shared_by=2)))
    assert _regret(network, target, claimed) <= _MOST
