"""What it costs to plan within a profile: beside the plan that nothing limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from trimtab.planner import algorithms, planner
from trimtab.planner.plan_file import Plan, keys
from trimtab.program import Op, Program
from trimtab.target import Target

_SHOWN = 4


@dataclass(frozen=True)
class Price:
    """`time`: that of the operators of which there is a choice of algorithms, relative to the plan
    without a profile, by the planner's measure. `changed`: how each operator that has another
    algorithm or kernel is called, what it has, and what it would have.
    """

    time: float
    changed: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        if not self.changed:
            return "the plan is the same as without it"
        more = f", and {len(self.changed) - _SHOWN} more" if len(self.changed) > _SHOWN else ""
        named = ", ".join(
            f"{key} {own} instead of {was}" for key, own, was in self.changed[:_SHOWN]
        )
        return f"estimated time x {self.time:.2f} of the plan without it: {named}{more}"


def price(optimized: Program, target: Target, given: Plan | None = None) -> Price:
    """What it costs to plan `optimized` within the profile of `target`."""
    given = given or Plan()
    open_target = replace(given.machine(target), profile=None)
    within, free = (planner.decide(optimized, machine, given) for machine in (target, open_target))
    twins = {twin.outputs[0]: twin for twin in free.ops}
    own, least = (
        sum(cost.cycles for cost in planner.operator_costs(plan, open_target))
        for plan in (within, free)
    )
    changed = tuple(
        (key, *difference)
        for key, op in zip(keys(within), within.ops, strict=True)
        if (twin := twins.get(op.outputs[0]))  # another one computes it, too
        and (difference := next(_differences(op, twin), None))
    )
    return Price(own / least if least else 1.0, changed)


def _differences(op: Op, other: Op) -> Iterator[tuple[str, str]]:
    """Algorithms, or kernels where the algorithm is the same."""
    own, was = algorithms.of(op), algorithms.of(other)
    if own and was and own is not was:
        yield own.name, was.name
    called = [attribute.name for attribute in op.schema.attributes if attribute.type == "kernel"]
    for name in called:
        if op.attributes[name] != other.attributes.get(name):
            yield op.attributes[name], other.attributes.get(name, "none")
