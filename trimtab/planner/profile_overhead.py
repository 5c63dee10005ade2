"""Overhead of a profile: how much slower a plan is than one that may use every kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from trimtab.planner import algorithms, planner
from trimtab.planner.plan_file import Plan, operator_keys
from trimtab.program import Op, Program
from trimtab.target import Target

_SHOWN = 4


@dataclass(frozen=True)
class ProfileOverhead:
    """`time`: modeled time of the operators with a choice of algorithms, relative to the plan
    without a profile. `changed`: (operator key, algorithm or kernel with the profile, without it)
    of each operator that differs.
    """

    time: float
    changed: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        if not self.changed:
            return "the plan is the same as without it"
        more = f", and {len(self.changed) - _SHOWN} more" if len(self.changed) > _SHOWN else ""
        changes = ", ".join(
            f"{key} {within} instead of {without}" for key, within, without in self.changed[:_SHOWN]
        )
        return f"estimated time x {self.time:.2f} of the plan without it: {changes}{more}"


def profile_overhead(
    optimized: Program, target: Target, overrides: Plan | None = None
) -> ProfileOverhead:
    """Compares the plan of `optimized` within the profile of `target` with the unrestricted
    plan.
    """
    overrides = overrides or Plan()
    unrestricted = replace(overrides.with_threads(target), profile=None)
    restricted_plan, free_plan = (
        planner.decide(optimized, machine, overrides) for machine in (target, unrestricted)
    )
    twins = {twin.outputs[0]: twin for twin in free_plan.ops}
    restricted_cycles, free_cycles = (
        sum(cost.cycles for cost in planner.operator_costs(plan, unrestricted))
        for plan in (restricted_plan, free_plan)
    )
    changed = tuple(
        (key, *difference)
        for key, op in zip(operator_keys(restricted_plan), restricted_plan.ops, strict=True)
        if (twin := twins.get(op.outputs[0]))  # absent if another operator absorbs it
        and (difference := next(_differences(op, twin), None))
    )
    return ProfileOverhead(restricted_cycles / free_cycles if free_cycles else 1.0, changed)


def _differences(op: Op, other: Op) -> Iterator[tuple[str, str]]:
    """Different algorithms, or different kernels of the same algorithm."""
    algorithm, other_algorithm = algorithms.algorithm_of(op), algorithms.algorithm_of(other)
    if algorithm and other_algorithm and algorithm is not other_algorithm:
        yield algorithm.name, other_algorithm.name
    names = [attribute.name for attribute in op.schema.attributes if attribute.type == "kernel"]
    for name in names:
        if op.attributes[name] != other.attributes.get(name):
            yield op.attributes[name], other.attributes.get(name, "none")
