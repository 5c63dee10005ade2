"""The plan: which algorithm and micro-kernels every operator takes, and weights packed for them.

The rules are documented in docs/planner.md. The engine follows a plan and has no rules of its own,
so a plan is everything that depends on the target. What a `Plan` (choices.py) says goes before the
rules.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.errors import PlanError
from trimtab.planner import algorithms, blocking, parts, spacing
from trimtab.planner.choices import Choice, Plan, Value
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
    given = given or Plan()
    planned = decide(program, target, given)
    chosen = [*zip(planned.ops, given.of(planned), strict=True)]
    packer = Packer(planned)
    for op in planned.ops:
        if algorithm := algorithms.of(op):
            packer.pack(op, algorithm.packings(planned, op))
    packer.remove_unused()
    parts.place(planned)
    spacing.place(planned, target.core.l1d)
    for op, choice in chosen:
        _cut(planned, op, target, choice)
    return planned


def decide(program: Program, target: Target, given: Plan) -> Program:
    """The algorithms and kernels that `plan` decides, for those who want to know no more: without
    packed weights, places and numbers.

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
    planned.ops[:] = [
        _decided(planned, op, target, choice, given.algorithms)
        for op, choice in zip(program.ops, given.of(program), strict=True)
    ]
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
            where=_where(op),
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
    _check(way.op, choice.values)
    way.choose(choice.values)
    return way.op


def _check(op: Op, values: Mapping[str, Value]) -> None:
    """PlanError when the operator's plan has no such values; kernels are checked where they are
    chosen.
    """
    known = {a.name: a for a in op.schema.attributes if a.plan}
    if unknown := [name for name in values if name not in known]:
        raise PlanError(
            f"the plan of the operator has no {', '.join(unknown)}",
            where=_where(op),
            hint=f"it has {', '.join(known) or 'nothing to decide'}",
        )
    for name, value in values.items():
        match known[name].type:
            case "kernel":
                fits, hint = isinstance(value, str), "use the name of a kernel, in quotes"
            case "bool":
                fits, hint = isinstance(value, bool), "use true or false"
            case _:
                least, most = known[name].range
                fits = type(value) is int and least <= value <= most
                hint = f"use a number from {least} to {most}"
        if not fits:
            raise PlanError(f"{name} cannot be {value!r}", where=_where(op), hint=hint)


def _cut(program: Program, op: Op, target: Target, choice: Choice) -> None:
    """Sets the numbers of an operator's plan: to what is chosen, or by the rules."""
    if algorithm := algorithms.of(op):
        ruled = algorithm.blocks(program, op, target)
    else:
        ruled = {
            name: rule(program, op, target)
            for name, rule in blocking.RULES.items()
            if name in op.attributes
        }
    for name, value in ruled.items():
        range = op.schema.attribute(name).range
        op.attributes[name] = choice.values.get(name, min(value, range[1]) if range else value)


def _where(op: Op) -> str:
    return f"operator {op.name} ({op.type})"
