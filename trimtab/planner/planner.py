"""The plan: which algorithm and micro-kernels every operator takes, and weights packed for them.

The rules are documented in docs/planner.md. The engine follows a plan and has no rules of its own,
so a plan is everything that depends on the target. What a `Plan` (choices.py) says goes before the
rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from trimtab import kernels
from trimtab.errors import PlanError, ProfileError
from trimtab.planner import (
    algorithms,
    blocking,
    code_selection,
    concat_elision,
    pixel_padding,
    precision,
    producer_fusion,
)
from trimtab.planner.cost import Cost, of_elements
from trimtab.planner.kernel_selection import KernelChoice
from trimtab.planner.packing import Packer
from trimtab.planner.plan_file import Choice, Plan, Value
from trimtab.planner.producer_fusion import Neighbors, Ways
from trimtab.profile import Profile
from trimtab.program import Op, Program
from trimtab.target import Target


def plan(program: Program, target: Target, given: Plan | None = None) -> Program:
    """The twin of `program` that is ready to run on `target`; `program` is unchanged. What `given`
    decides, the rules do not.

    PlanError when an operator has no kernel on the target, its weights are not constants, the
    program is planned already, or `given` does not fit the program or the target. ProfileError when
    an operator can be computed in no way that the target's profile holds.
    """
    given = given or Plan()
    (planned,) = plans(program, target, given, [given.prefer])
    return planned


def plans(
    program: Program, target: Target, given: Plan, preferences: Iterable[str]
) -> Iterator[Program]:
    """The twins that `plan` makes of `program` with each of the preferences in place of the one of
    `given`, in little more time than one of them: what is decided within given limits does not
    depend on the preference.
    """
    _check_unplanned(program)
    target = given.machine(target)
    program = precision.assign(program, target, given.precision, given.precisions)
    made: dict[tuple[Target, tuple[str, ...]], Program] = {}

    def decided(machine: Target, within: Plan) -> Program:
        key = machine, within.algorithms
        if key not in made:
            made[key] = decide(program, machine, within)
        return made[key]

    for preference in preferences:
        limits = code_selection.select(decided, target, replace(given, prefer=preference))
        planned = decided(limits.target, limits.given).copy()
        _complete(planned, program, limits.target, limits.given)
        yield planned


def _complete(planned: Program, program: Program, target: Target, given: Plan) -> None:
    """Adds to what `decide` made of `program`: packed weights, places and numbers."""
    choices = _choices(program, given)
    chosen = [(op, choices[op.outputs[0]]) for op in planned.ops]
    concat_elision.place(planned)
    _check_held(planned, target)
    pixel_padding.place(planned, target.core.l1d)
    for op, choice in chosen:
        _cut(planned, op, target, choice)
    packer = Packer(planned, target)
    for op, choice in chosen:
        if algorithm := algorithms.of(op):
            packer.pack(op, algorithm.packings(planned, op), given.storage(choice))
    packer.finish()


def decide(program: Program, target: Target, given: Plan) -> Program:
    """The algorithms and kernels that `plan` decides, for those who want to know no more: without
    packed weights, places and numbers.

    PlanError and ProfileError as `plan`.
    """
    _check_unplanned(program)
    target = given.machine(target)
    program = precision.assign(program, target, given.precision, given.precisions)
    planned = program.copy()
    planned.source = program.source or program
    planned.target, planned.threads = target.name, target.threads
    ways = [_ways(planned, op, target) for op in program.ops]
    _check_possible(ways, target)
    choices = _choices(program, given)
    usable = [_usable(of_op, given.algorithms) for of_op in ways]
    fixed = {output for output, choice in choices.items() if choice != Choice()}
    neighbors = Neighbors(planned, usable, fixed)
    decided = [
        _decided(of_op, by_rule, choice, neighbors)
        for of_op, by_rule, choice in zip(ways, usable, choices.values(), strict=True)
    ]
    taken = set[str]().union(*map(neighbors.taken, decided))
    planned.ops[:] = producer_fusion.without([way.op for way in decided], taken, planned.outputs)
    _check_not_taken(fixed, program, planned)
    return planned


def _check_unplanned(program: Program) -> None:
    if program.planned:
        raise PlanError(
            f"the program is already planned for {program.target}",
            where=f"program {program.name}",
            hint="plan the program that it was made from: packed weights cannot be packed again",
        )


def _choices(program: Program, given: Plan) -> dict[str, Choice]:
    """What is decided for each operator, by its first output."""
    outputs = (op.outputs[0] for op in program.ops)
    return dict(zip(outputs, given.of(program), strict=True))


def _check_not_taken(fixed: Iterable[str], program: Program, planned: Program) -> None:
    """PlanError when a plan says something of an operator that is not in it any more."""
    left = {op.outputs[0] for op in planned.ops}
    for op in program.ops:
        if op.outputs[0] in fixed and op.outputs[0] not in left:
            raise PlanError(
                "the plan decides something, and lets an operator behind it compute it, too",
                where=_where(op),
                hint="leave out the one or the other",
            )


def operator_costs(planned: Program, target: Target) -> list[Cost]:
    """What each operator of a planned program takes by the planner's measure, nothing for those
    that there is one way to compute.
    """
    return [KernelChoice(planned, op, algorithms.of(op), target).cost() for op in planned.steps]


def total_cycles(planned: Program, target: Target) -> float:
    """Cycles of a whole inference by the planner's measure, where what there is one way to compute
    counts with an estimate: for choices that change which operators there are.
    """
    rest = 0.0
    for op in planned.steps:
        if algorithms.of(op) is None:
            name = op.attributes.get("kernel", "")
            rest += of_elements(planned, op, kernels.kernel(name) if name else None, target)
    return rest + sum(part.cycles for part in operator_costs(planned, target))


def _ways(program: Program, op: Op, target: Target) -> Ways:
    """How an operator can be computed, if the target has what that needs."""
    return {
        name: KernelChoice(program, lowered, algorithms.found()[name], target)
        for name, lowered in algorithms.lower(program, op, target).items()
    } or {"": KernelChoice(program, op, algorithms.of(op), target)}


def _check_possible(ways: Iterable[Ways], target: Target) -> None:
    """ProfileError or PlanError, with all that is missing, unless there is a way for each."""
    lacking = [
        words
        for of_op in ways
        if all(way.missing() for way in of_op.values())
        for words in of_op.get(algorithms.DIRECT, of_op[next(iter(of_op))]).missing()
    ]
    what = ", ".join(sorted({*lacking}))
    if what and target.profile:
        raise _left_out(what, target.profile)
    if what:
        raise PlanError(
            f"the model needs {what}, which {target.name} cannot run",
            hint="add one to kernels/, at least a portable one",
        )


def _check_held(planned: Program, target: Target) -> None:
    """ProfileError where the profile lacks what might have gone, such as a concatenation of what
    could not be written in its place.
    """
    lacking = {op.type for op in planned.ops if op.type in concat_elision.PLACED}
    lacking = {type for type in lacking if not target.holds(type)}
    if lacking and target.profile:
        raise _left_out(", ".join(sorted(lacking)), target.profile)


def _left_out(what: str, profile: Profile) -> ProfileError:
    return ProfileError(
        f"the model needs {what}, which the profile leaves out",
        where=f"profile {profile.name}",
        hint="take another profile, or none: then the binary holds just what the model needs",
    )


def _usable(ways: Ways, allowed: tuple[str, ...]) -> Ways:
    """The possible ways of those that are `allowed`, or else one that is possible: there is one."""
    possible = {name: way for name, way in ways.items() if not way.missing()}
    other = algorithms.DIRECT if algorithms.DIRECT in possible else next(iter(possible))
    usable = {name: way for name, way in possible.items() if name in allowed}
    return usable or {other: possible[other]}


def _decided(ways: Ways, usable: Ways, choice: Choice, neighbors: Neighbors) -> KernelChoice:
    """The way of the algorithm that `choice` names, or the one of the `usable` ways that takes the
    fewest cycles, with what it leaves to others; its operator has its kernels.
    """
    if choice.algorithm:
        _check_algorithm(choice.algorithm, ways)
        way = ways[choice.algorithm]
    elif len(usable) == 1:
        (way,) = usable.values()
    else:
        left = neighbors.left(usable)
        way = usable[min(usable, key=lambda name: usable[name].least_cycles() + left[name])]
    _check(way.op, choice.values)
    way.choose(choice.values)
    return way


def _check_algorithm(wanted: str, ways: Ways) -> None:
    """PlanError unless the algorithm is among the possible ones; says why it is not."""
    possible = [name for name, way in ways.items() if not way.missing()]
    if wanted in possible:
        return
    some = next(iter(ways.values()))
    reason = ""
    if wanted in ways:
        profile = some.target.profile
        lacks = f"the profile {profile.name}" if profile else some.target.name
        reason = f": {lacks} lacks {', '.join(ways[wanted].missing())}"
    raise PlanError(
        f"{wanted} cannot compute this operator{reason}",
        where=_where(some.op),
        hint="only operators with packed weights have a choice of algorithms"
        if "" in ways
        else f"leave algorithm out, or use {', '.join(possible)}",
    )


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
