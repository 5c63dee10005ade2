"""Plans that prefer size: code is weighed as time is. docs/planner.md has the rule.

A program needs the code of each algorithm and kernel that one of its operators takes. So the choice
is made for all operators together: from the plan that is fastest, what is worth its bytes least is
given up, again and again, as long as that pays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from trimtab import kernels, schema
from trimtab.errors import PlanError, ProfileError
from trimtab.planner import algorithms, fusion
from trimtab.planner.choices import Plan
from trimtab.planner.code_bytes import CodeBytes, kernels_of, known
from trimtab.planner.kernel_choice import KernelChoice
from trimtab.profile import Profile
from trimtab.program import Program
from trimtab.target import Target

# A hundredth of a binary's bytes is worth so many hundredths of a run's time.
_TIME_PER_SIZE = 4

Decide = Callable[[Target, Plan], Program]


@dataclass(frozen=True)
class Limits:
    """What a plan may take: `target` holds kernels, `given` algorithms."""

    target: Target
    given: Plan


@dataclass(frozen=True)
class Cost:
    """Of a plan within limits. `time`: work of the operators that have algorithms to choose from,
    in the planner's measure; `bytes`: of code.
    """

    time: float
    bytes: int

    @property
    def total(self) -> float:
        """What is to be small; comparable among plans of one program."""
        return self.time * float(self.bytes) ** _TIME_PER_SIZE


def limits(decide: Decide, target: Target, given: Plan) -> Limits:
    """Within which the plan has the least cost; `decide` makes a program's plan within limits."""
    best = Limits(target, given)
    code = known(target.arch)
    if code is None:
        return best
    planned = decide(target, given)
    least = cost(planned, target, code)
    while True:
        tried = [
            (cost(twin, fewer.target, code), fewer, twin)
            for _, fewer in without(planned, best)
            if (twin := attempt(decide, fewer))
        ]
        found = min(tried, key=lambda one: one[0].total, default=None)
        if found is None or found[0].total >= least.total:
            return best
        least, best, planned = found


def attempt(decide: Decide, within: Limits) -> Program | None:
    """The plan within limits; None where an operator is left without a kernel, or a plan file names
    what they leave out.
    """
    try:
        return decide(within.target, within.given)
    except (PlanError, ProfileError):
        return None


def cost(planned: Program, target: Target, code: CodeBytes) -> Cost:
    """That of a planned program: small kernels take longer than the planner's measure says."""
    time = 0.0
    for op in planned.ops:
        if algorithm := algorithms.of(op):
            called = map(kernels.kernel, kernels_of(op))
            slower = max(kernels.isas()[k.isa].slower.get(k.family, 1) for k in called)
            time += slower * KernelChoice(planned, op, algorithm, target).work()
            time += fusion.spill(planned, op, target)
    return Cost(time, code.of(planned))


def without(planned: Program, within: Limits) -> Iterator[tuple[str, Limits]]:
    """What a plan could do without, and the limits that leave it out: the operator of an algorithm,
    one of several algorithms that share it, and kernels of which there are small ones.
    """
    used: dict[str, set[str]] = {}
    for op in planned.ops:
        algorithm = algorithms.of(op)
        if algorithm and algorithm.name != algorithms.DIRECT:
            used.setdefault(op.type, set()).add(algorithm.name)
    for type, names in sorted(used.items()):
        yield type, replace(within, target=_fewer(within.target, operator=type))
        for name in sorted(names) if len(names) > 1 else ():
            allowed = tuple(other for other in within.given.algorithms if other != name)
            yield name, replace(within, given=replace(within.given, algorithms=allowed))
    for name in sorted(kernels_of(*planned.ops)):
        kernel = kernels.kernel(name)
        if any(
            kernel.family in kernels.isas()[other.isa].slower
            for other in within.target.kernels()
            if other.typed_family == kernel.typed_family and other.isa != kernel.isa
        ):
            smaller = [
                k.name
                for k in within.target.kernels()
                if k.typed_family != kernel.typed_family or k.family in kernels.isas()[k.isa].slower
            ]
            yield name, replace(within, target=_fewer(within.target, held=smaller))


def _fewer(target: Target, operator: str = "", held: Iterable[str] = ()) -> Target:
    """The target without an operator, or with no kernels but those that are named."""
    ops = [op for op in schema.operators() if op != operator and target.holds(op)]
    kept = held or [kernel.name for kernel in target.kernels()]
    return target.within(Profile("small", "", tuple(ops), tuple(schema.DTYPES), tuple(kept)))
