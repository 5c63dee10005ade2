"""The plan: which algorithm and micro-kernels every operator takes, and weights packed for them.

The rules are documented in docs/planner.md. The engine follows a plan and has no rules of its own,
so a plan is everything that depends on the target. What a `Plan` (choices.py) says goes before the
rules.
"""

from __future__ import annotations

from trimtab.errors import PlanError
from trimtab.planner import algorithms, parts, spacing
from trimtab.planner.choices import Choice, Plan, keys
from trimtab.planner.kernel_choice import KernelChoice
from trimtab.planner.packing import Packer
from trimtab.program import Op, Program
from trimtab.target import Target


def plan(program: Program, target: Target, given: Plan | None = None) -> Program:
    """The twin of `program` that is ready to run on `target`; `program` is unchanged. What `given`
    decides, the rules do not.

    PlanError when an operator has no kernel on the target, its weights are not constants, the
    program is planned already, or `given` does not fit the program or the target.
    """
    planned = decide(program, target, given or Plan())
    packer = Packer(planned)
    for op in planned.ops:
        if algorithm := algorithms.of(op):
            packer.pack(op, algorithm.packings(planned, op))
    packer.remove_unused()
    parts.place(planned)
    spacing.place(planned)
    return planned


def decide(program: Program, target: Target, given: Plan) -> Program:
    """A plan without its packed weights: what `plan` decides, for those who want to know no more.

    PlanError as `plan`.
    """
    if program.planned:
        raise PlanError(
            f"the program is already planned for {program.target}",
            where=f"program {program.name}",
            hint="plan the program that it was made from: packed weights cannot be packed again",
        )
    planned = program.copy()
    planned.source = program.source or program
    planned.target = target.name
    choices = dict(given.operators)
    for i, (key, op) in enumerate(zip(keys(planned), planned.ops, strict=True)):
        choice = choices.pop(key, Choice())
        planned.ops[i] = _decided(planned, op, target, choice, given.algorithms)
    if choices:
        raise PlanError(
            f"the plan has operators that the program has not: {', '.join(map(repr, choices))}",
            where=f"program {program.name}",
            hint="./inv inspect MODEL --plan writes a plan with all names",
        )
    return planned


def _decided(
    program: Program, op: Op, target: Target, choice: Choice, allowed: tuple[str, ...]
) -> Op:
    """The operator, with its kernels, of the algorithm that `choice` names, or of the one of
    `allowed` that takes the least work.
    """
    ways = {
        name: KernelChoice(program, lowered, algorithms.found()[name], target)
        for name, lowered in algorithms.lower(program, op, target).items()
    }
    if choice.algorithm and choice.algorithm not in ways:
        raise PlanError(
            f"{choice.algorithm} cannot compute this operator",
            where=f"operator {op.name} ({op.type})",
            hint=f"leave algorithm out, or use {', '.join(ways)}"
            if ways
            else "only operators with packed weights have a choice of algorithms",
        )
    if choice.algorithm:
        way = ways[choice.algorithm]
    elif ways:
        usable = [ways[name] for name in ways if name in allowed] or [ways[algorithms.DIRECT]]
        way = usable[0] if len(usable) == 1 else min(usable, key=KernelChoice.work)
    else:
        way = KernelChoice(program, op, algorithms.of(op), target)
    way.choose(choice.kernels)
    return way.op
