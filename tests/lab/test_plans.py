"""Plans of the zoo by the cost model, beside fixed choices."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

import trimtab
from lab.plans import estimates as plans
from tests.some import some
from trimtab import passes, paths, zoo
from trimtab.cores import Memory
from trimtab.planner import planner
from trimtab.planner.plan_file import Plan
from trimtab.target import Target


def with_memory(target: Target, core_gb_per_s: float, bus_gb_per_s: float = 0) -> Target:
    memory = Memory(1.0, bus_gb_per_s or core_gb_per_s, core_gb_per_s)
    return replace(target, core=replace(target.core, memory=memory))


@pytest.mark.parametrize("target", plans.targets(), ids=lambda t: f"{t.core.name}, {t.threads}")
def test_no_plan_is_estimated_worse_than_that_of_the_fixed_rule(target: Target) -> None:
    for name in ("squeezenet", "mobilenet_v2", "shufflenet_v2"):
        program = passes.optimize(trimtab.load(zoo.write(name, paths.cache() / "zoo")))
        before = plans.fixed_rule(name, target)
        assert before
        estimate = plans.estimate(name, program, target, before)
        assert estimate.mcycles <= estimate.was_mcycles
        if target.threads == 4 and target.core.name == "cortex-a53":
            assert estimate.mcycles < 0.99 * estimate.was_mcycles


@pytest.mark.parametrize("target", plans.targets(), ids=lambda t: f"{t.core.name}, {t.threads}")
def test_no_plan_is_estimated_worse_than_the_one_with_the_fewest_instructions(
    target: Target,
) -> None:
    infinite = with_memory(target, 1e9)
    for name in ("squeezenet", "mobilenet_v2", "shufflenet_v2"):
        program = passes.optimize(trimtab.load(zoo.write(name, paths.cache() / "zoo")))
        chosen, fewest = (
            sum(
                part.cycles
                for part in planner.operator_costs(planner.decide(program, own, Plan()), target)
            )
            for own in (target, infinite)
        )
        assert chosen <= fewest


def test_more_threads_never_make_an_estimate_worse() -> None:
    program = passes.optimize(trimtab.load(zoo.write("squeezenet", paths.cache() / "zoo")))
    for cpu in some(plans.CPUS):
        cycles = [
            plans.estimate("squeezenet", program, Target.of("aarch64", cpu, threads), {}).mcycles
            for threads in (1, 2, 4)
        ]
        assert all(more <= fewer for fewer, more in pairwise(cycles))
