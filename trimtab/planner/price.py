"""What it costs to plan within a profile: beside the plan that nothing limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from trimtab.planner import algorithms, planner
from trimtab.planner.choices import Plan, keys
from trimtab.program import Op, Program
from trimtab.target import Target

_SHOWN = 4


@dataclass(frozen=True)
class Price:
    """`work`: that of the operators of which there is a choice of algorithms, relative to the plan
    without a profile, by the planner's measure. `changed`: how each operator that has another
    algorithm or kernel is called, what it has, and what it would have.
    """

    work: float
    changed: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        if not self.changed:
            return "the plan is the same as without it"
        more = f", and {len(self.changed) - _SHOWN} more" if len(self.changed) > _SHOWN else ""
        named = ", ".join(
            f"{key} {own} instead of {was}" for key, own, was in self.changed[:_SHOWN]
        )
        return f"estimated work x {self.work:.2f} of the plan without it: {named}{more}"


def price(optimised: Program, planned: Program, target: Target, given: Plan | None = None) -> Price:
    """What the profile of `target` costs: `planned` is the plan of `optimised` within it."""
    open_target = replace(target, profile=None)
    free = planner.decide(optimised, open_target, given or Plan())
    twins = {twin.outputs[0]: twin for twin in free.ops}
    own, least = (sum(planner.work(plan, open_target)) for plan in (planned, free))
    changed = tuple(
        (key, *difference)
        for key, op in zip(keys(planned), planned.ops, strict=True)
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
