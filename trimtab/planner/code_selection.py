"""Code selection: drops algorithms and kernels whose benefit does not justify their code size.

A binary contains the code of each algorithm and kernel that any operator uses, so the choice is
made for all operators together: a greedy search starts from the fastest plan and omits code as long
as the weighted cost falls. docs/planner.md has the rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from trimtab import kernels, schema
from trimtab.errors import PlanError, ProfileError
from trimtab.planner import algorithms
from trimtab.planner.code_bytes import CodeSizes, called_kernels, code_sizes
from trimtab.planner.kernel_selection import KernelSelection
from trimtab.planner.plan_file import Choice, Plan
from trimtab.profile import Profile
from trimtab.program import Program
from trimtab.target import Target

# Exchange rate by `prefer`: 1 % of code size is worth this many % of run time.
_TIME_PER_SIZE = {"size": 3.0}
_DEFAULT_RATE = 0.1

Decide = Callable[[Target, Plan], Program]


@dataclass(frozen=True)
class Constraints:
    """The code that a plan may use: `target` limits kernels and operators, `plan` algorithms."""

    target: Target
    plan: Plan


@dataclass(frozen=True)
class CodeCost:
    """The cost of a plan. `time`: modeled cycles of the operators with a choice of algorithms;
    `bytes`: code size of the binary.
    """

    time: float
    bytes: int

    def total(self, plan: Plan) -> float:
        """The weighted cost that is minimized; comparable among plans of one program."""
        rate = _TIME_PER_SIZE.get(plan.prefer, _DEFAULT_RATE)
        return self.time * math.pow(self.bytes, rate)


def select(
    decide: Decide, target: Target, overrides: Plan, *, has_all_code: bool = False
) -> Constraints:
    """The constraints under which the plan has the lowest cost; `decide` plans a program under
    constraints.

    The binary of a profile contains its code anyway, and an engine that `has_all_code` everything,
    so nothing is omitted unless the plan prefers size.
    """
    best = Constraints(target, overrides)
    sizes = code_sizes(target.arch)
    is_given = has_all_code or target.profile
    if sizes is None or (is_given and overrides.prefer not in _TIME_PER_SIZE):
        return best
    planned = decide(target, overrides)
    best_cost = code_cost(planned, best, sizes)
    while True:
        candidates = [
            (code_cost(twin, narrower, sizes), narrower, twin)
            for _, narrower in omissions(planned, best)
            if (twin := attempt(decide, narrower))
        ]
        cheapest = min(candidates, key=lambda one: one[0].total(overrides), default=None)
        if cheapest is None or cheapest[0].total(overrides) >= best_cost.total(overrides):
            return best
        best_cost, best, planned = cheapest


def attempt(decide: Decide, constraints: Constraints) -> Program | None:
    """The plan under constraints, or None if an operator has no kernel left or a plan file names
    excluded code.
    """
    try:
        return decide(constraints.target, constraints.plan)
    except (PlanError, ProfileError):
        return None


def code_cost(planned: Program, constraints: Constraints, sizes: CodeSizes) -> CodeCost:
    """The cost of a plan. Small kernels take longer than the cost model says, and weights that are
    packed at load time need the code that packs them.
    """
    target, constant_bytes = constraints.target, planned.constant_bytes()
    time = 0.0
    for op in planned.ops:
        if algorithm := algorithms.algorithm_of(op):
            called = map(kernels.kernel, called_kernels(op))
            slowdown = max(kernels.isas()[k.isa].slower.get(k.family, 1) for k in called)
            selection = KernelSelection(planned, op, algorithm, target, constant_bytes)
            time += slowdown * selection.cost().cycles
    return CodeCost(time, sizes.total(planned.ops, _packing_code(planned, constraints.plan)))


def _packing_code(planned: Program, plan: Plan) -> set[str]:
    """Operators and kernels that pack weights when a model is set up."""
    names = set[str]()
    for op in planned.ops:
        storage = plan.storage(Choice(), op.name)
        algorithm = algorithms.algorithm_of(op)
        for index, packing in (algorithm.packings(planned, op) if algorithm else {}).items():
            preparation = packing.at_load
            if (
                preparation
                and storage.at_load
                and op.inputs[index]
                and not preparation.is_done(
                    storage.form_of(planned.vars[op.inputs[index]], preparation.axis),
                    planned.dtype(op),
                )
            ):
                names |= {preparation.operator, str(preparation.attributes.get("kernel", ""))}
    return names


def omissions(planned: Program, constraints: Constraints) -> Iterator[tuple[str, Constraints]]:
    """Yields (name, narrower constraints) for everything that a plan could omit: the operator of an
    algorithm, one of several algorithms that share an operator, and kernels that have a smaller
    alternative.
    """
    used: dict[str, set[str]] = {}
    # A plan without the fallback algorithm requires the others.
    replaceable = algorithms.DIRECT in constraints.plan.algorithms
    for op in planned.ops if replaceable else ():
        algorithm = algorithms.algorithm_of(op)
        if algorithm and algorithm.name != algorithms.DIRECT:
            used.setdefault(op.type, set()).add(algorithm.name)
    for type, names in sorted(used.items()):
        yield type, replace(constraints, target=_narrowed(constraints.target, operator=type))
        for name in sorted(names) if len(names) > 1 else ():
            allowed = tuple(other for other in constraints.plan.algorithms if other != name)
            yield name, replace(constraints, plan=replace(constraints.plan, algorithms=allowed))
    for name in sorted(called_kernels(*planned.ops)):
        kernel = kernels.kernel(name)
        if any(
            kernel.family in kernels.isas()[other.isa].slower
            for other in constraints.target.kernels()
            if other.typed_family == kernel.typed_family and other.isa != kernel.isa
        ):
            smaller = [
                k.name
                for k in constraints.target.kernels()
                if k.typed_family != kernel.typed_family or k.family in kernels.isas()[k.isa].slower
            ]
            yield name, replace(constraints, target=_narrowed(constraints.target, only=smaller))


def _narrowed(target: Target, operator: str = "", only: Iterable[str] = ()) -> Target:
    """The target without one operator, or with `only` the named kernels."""
    ops = [op for op in schema.operators() if op != operator and target.holds(op)]
    names = only or [kernel.name for kernel in target.kernels()]
    return target.with_profile(Profile("small", "", tuple(ops), tuple(schema.DTYPES), tuple(names)))
