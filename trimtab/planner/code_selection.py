"""Which algorithms and kernels are worth their code. docs/planner.md has the rule.

A program needs the code of each algorithm and kernel that one of its operators takes. So the choice
is made for all operators together: from the plan that is fastest, what is worth its bytes least is
given up, again and again, as long as that pays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from trimtab import kernels, schema
from trimtab.errors import PlanError, ProfileError
from trimtab.planner import algorithms
from trimtab.planner.code_bytes import CodeBytes, kernels_of, known
from trimtab.planner.kernel_selection import KernelChoice
from trimtab.planner.plan_file import Choice, Plan
from trimtab.profile import Profile
from trimtab.program import Program
from trimtab.target import Target

# A hundredth of a binary is worth so many hundredths of the time, by what a plan prefers.
_TIME_PER_SIZE = {"size": 3.0}
_USUALLY = 0.1

Decide = Callable[[Target, Plan], Program]


@dataclass(frozen=True)
class Constraints:
    """What a plan may take: `target` holds kernels, `given` algorithms."""

    target: Target
    given: Plan


@dataclass(frozen=True)
class CodeCost:
    """Of a plan within limits. `time`: work of the operators that have algorithms to choose from,
    in the planner's measure; `bytes`: of code.
    """

    time: float
    bytes: int

    def total(self, given: Plan) -> float:
        """What is to be small; comparable among plans of one program."""
        weight = _TIME_PER_SIZE.get(given.prefer, _USUALLY)
        return self.time * math.pow(self.bytes, weight)


def select(decide: Decide, target: Target, given: Plan) -> Constraints:
    """Within which the plan has the least cost; `decide` makes a program's plan within limits. The
    binary of a profile has its code anyway, unless it is to be small, too.
    """
    best = Constraints(target, given)
    code = known(target.arch)
    if code is None or (target.profile and given.prefer not in _TIME_PER_SIZE):
        return best
    planned = decide(target, given)
    least = code_cost(planned, best, code)
    while True:
        tried = [
            (code_cost(twin, fewer, code), fewer, twin)
            for _, fewer in omissions(planned, best)
            if (twin := attempt(decide, fewer))
        ]
        found = min(tried, key=lambda one: one[0].total(given), default=None)
        if found is None or found[0].total(given) >= least.total(given):
            return best
        least, best, planned = found


def attempt(decide: Decide, within: Constraints) -> Program | None:
    """The plan within limits; None where an operator is left without a kernel, or a plan file names
    what they leave out.
    """
    try:
        return decide(within.target, within.given)
    except (PlanError, ProfileError):
        return None


def code_cost(planned: Program, within: Constraints, code: CodeBytes) -> CodeCost:
    """That of a plan: small kernels take longer than the planner's measure says, and weights that
    are packed at load need code for it.
    """
    target = within.target
    time = 0.0
    for op in planned.ops:
        if algorithm := algorithms.of(op):
            called = map(kernels.kernel, kernels_of(op))
            slower = max(kernels.isas()[k.isa].slower.get(k.family, 1) for k in called)
            time += slower * KernelChoice(planned, op, algorithm, target).cost().cycles
    return CodeCost(time, code.of(planned.ops, _packing(planned, within.given)))


def _packing(planned: Program, given: Plan) -> set[str]:
    """Operators and kernels that pack weights when a model is set up."""
    storage = given.storage(Choice())
    found = set[str]()
    for op in planned.ops if storage.at_load else ():
        algorithm = algorithms.of(op)
        for index, packing in (algorithm.packings(planned, op) if algorithm else {}).items():
            way = packing.at_load
            if way and op.inputs[index] and not way.is_done(storage.dtype, planned.dtype(op)):
                found |= {way.operator, str(way.attributes.get("kernel", ""))}
    return found


def omissions(planned: Program, within: Constraints) -> Iterator[tuple[str, Constraints]]:
    """What a plan could do without, and the limits that leave it out: the operator of an algorithm,
    one of several algorithms that share it, and kernels of which there are small ones.
    """
    used: dict[str, set[str]] = {}
    # Who does not allow the one that can compute everything wants the others.
    replaceable = algorithms.DIRECT in within.given.algorithms
    for op in planned.ops if replaceable else ():
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
    return target.with_profile(Profile("small", "", tuple(ops), tuple(schema.DTYPES), tuple(kept)))
