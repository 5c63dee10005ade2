"""The planner: assigns an algorithm and micro-kernels to every operator, and packs their weights.

docs/planner.md documents the rules. The engine follows the plan and takes no decisions, so a
planned program contains everything that depends on the target. A `Plan` (plan_file.py) overrides
the rules.
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
    fitted,
    pixel_padding,
    precision,
    producer_fusion,
    rounding,
)
from trimtab.planner.cost import Cost, element_wise_cycles
from trimtab.planner.kernel_selection import KernelSelection
from trimtab.planner.packing import Packer
from trimtab.planner.plan_file import Choice, Plan, Value
from trimtab.planner.producer_fusion import FusionCandidates, Variants
from trimtab.profile import Profile
from trimtab.program import Op, Program
from trimtab.target import Target


def plan(
    program: Program,
    target: Target,
    overrides: Plan | None = None,
    *,
    has_all_code: bool = False,
) -> Program:
    """Returns a copy of `program` that is ready to run on `target`; `overrides` go before the
    rules. `has_all_code`: an engine that contains all code will run it, so none is omitted.

    Raises PlanError if the target has no kernel for an operator, weights are not constants, the
    program is already planned, or `overrides` do not fit the program or the target. Raises
    ProfileError if the target's profile lacks every algorithm for an operator.
    """
    overrides = overrides or Plan()
    (planned,) = plans(program, target, overrides, [overrides.prefer], has_all_code=has_all_code)
    return planned


def plans(
    program: Program,
    target: Target,
    overrides: Plan,
    preferences: Iterable[str],
    *,
    has_all_code: bool = False,
) -> Iterator[Program]:
    """Yields the result of `plan` for each preference in place of `overrides.prefer`.

    This takes little more time than one plan: algorithms and kernels under equal constraints do not
    depend on the preference and are selected once.
    """
    _check_unplanned(program)
    target = overrides.with_threads(target)
    program = precision.assign(program, target, overrides.precision, overrides.precisions)
    memo: dict[tuple[Target, tuple[str, ...]], Program] = {}

    def select(machine: Target, constraints: Plan) -> Program:
        key = machine, constraints.algorithms
        if key not in memo:
            memo[key] = decide(program, machine, constraints)
        return memo[key]

    for preference in preferences:
        preferring = replace(overrides, prefer=preference)
        constraints = code_selection.select(select, target, preferring, has_all_code=has_all_code)
        planned = select(constraints.target, constraints.plan).copy()
        complete(planned, program, constraints.target, constraints.plan)
        yield planned


def complete(planned: Program, program: Program, target: Target, overrides: Plan) -> None:
    """Adds to the result of `decide`: concat elision, padding, block sizes and packed weights."""
    choices = _choices(program, overrides)
    op_choices = [(op, choices[op.outputs[0]]) for op in planned.ops]
    concat_elision.elide(planned)
    _check_remaining_copies(planned, target)
    pixel_padding.pad(planned, target.core.l1d)
    for op, choice in op_choices:
        _set_block_sizes(planned, op, target, choice)
    packer = Packer(planned, target)
    # A fused operator has the weights of several.
    readers = {name: op.name for op in program.ops for name in op.inputs}
    for op, choice in op_choices:
        if algorithm := algorithms.algorithm_of(op):
            names = [readers.get(name, op.name) for name in op.inputs]
            storages = [overrides.storage(choice, name) for name in names]
            packer.pack(op, algorithm.packings(planned, op), storages)
    packer.finish()


def decide(program: Program, target: Target, overrides: Plan) -> Program:
    """Selects the algorithms and kernels of `plan`, without packing, offsets and block sizes.

    Raises PlanError and ProfileError as `plan` does.
    """
    _check_unplanned(program)
    target = overrides.with_threads(target)
    modeled = None
    if target.core.fit:
        modeled = decide(program, replace(target, core=replace(target.core, fit=None)), overrides)
    program = precision.assign(program, target, overrides.precision, overrides.precisions)
    planned = program.copy()
    planned.source = program.source or program
    planned.target, planned.threads = target.name, target.threads
    planned.weights = overrides.weights_type
    constant_bytes = planned.constant_bytes()
    variants = [_variants(planned, op, target, constant_bytes) for op in program.ops]
    _check_possible(variants, target)
    choices = _choices(program, overrides)
    allowed = [_allowed(of_op, overrides) for of_op in variants]
    fixed = {output for output, choice in choices.items() if choice != Choice()}
    candidates = FusionCandidates(planned, allowed, fixed)
    if modeled:
        allowed = _near_the_model(program, modeled, allowed, candidates)
    selections = [
        _select(of_op, by_rule, choice, candidates)
        for of_op, by_rule, choice in zip(variants, allowed, choices.values(), strict=True)
    ]
    absorbed = set[str]().union(*map(candidates.absorbed, selections))
    ops = [selection.op for selection in selections]
    planned.ops[:] = producer_fusion.remove_absorbed(ops, absorbed, planned.outputs)
    _check_not_absorbed(fixed, program, planned)
    return planned


def _near_the_model(
    program: Program,
    modeled: Program,
    allowed: Iterable[Variants],
    candidates: FusionCandidates,
) -> list[Variants]:
    """The variants that a fit may choose from, beside the plan of the cost model: what is fused
    stays, because fused operators are not fitted, and others must gain.
    """
    names = {
        op.outputs[0]: algorithm.name
        for op in modeled.ops
        if (algorithm := algorithms.algorithm_of(op))
    }
    result: list[Variants] = []
    for op, variants in zip(program.ops, allowed, strict=True):
        usual = names.get(op.outputs[0], "")
        alone = {name: v for name, v in variants.items() if not candidates.absorbed(v)}
        if usual in variants and usual not in alone:
            result.append({usual: variants[usual]})
        elif usual in alone and len(alone) > 1:
            bound = (1 - fitted.LEAST_GAIN) * alone[usual].min_cycles()
            result.append({n: v for n, v in alone.items() if n == usual or v.min_cycles() < bound})
        else:
            result.append(alone or variants)
    return result


def _check_unplanned(program: Program) -> None:
    if program.planned:
        raise PlanError(
            f"the program is already planned for {program.target}",
            where=f"program {program.name}",
            hint="plan the source program: packed weights cannot be packed again",
        )


def _choices(program: Program, overrides: Plan) -> dict[str, Choice]:
    """The override of each operator, by the name of its first output."""
    outputs = (op.outputs[0] for op in program.ops)
    return dict(zip(outputs, overrides.choices(program), strict=True))


def _check_not_absorbed(fixed: Iterable[str], program: Program, planned: Program) -> None:
    """PlanError if a later operator has absorbed an operator that the plan file configures."""
    remaining = {op.outputs[0] for op in planned.ops}
    for op in program.ops:
        if op.outputs[0] in fixed and op.outputs[0] not in remaining:
            raise PlanError(
                "the plan configures this operator, and also an algorithm that absorbs it",
                where=_where(op),
                hint="remove one of the two from the plan",
            )


def operator_costs(planned: Program, target: Target) -> list[Cost]:
    """The modeled cost of each operator of a planned program; `NO_COST` for operators with a single
    algorithm.
    """
    constant_bytes = planned.constant_bytes()
    return [
        KernelSelection(planned, op, algorithms.algorithm_of(op), target, constant_bytes).cost()
        for op in planned.steps
    ]


def operator_cycles(planned: Program, target: Target) -> list[float]:
    """Modeled cycles of each step of an inference; those of operators with a single algorithm are a
    coarse estimate.
    """
    cycles = [cost.cycles for cost in operator_costs(planned, target)]
    for index, op in enumerate(planned.steps):
        if algorithms.algorithm_of(op) is None:
            name = op.attributes.get("kernel", "")
            kernel = kernels.kernel(name) if name else None
            cycles[index] += element_wise_cycles(planned, op, kernel, target)
    return cycles


def total_cycles(planned: Program, target: Target) -> float:
    """Modeled cycles of a whole inference, by which programs with different operators (such as
    those of a precision search) can be compared.
    """
    return sum(operator_cycles(planned, target))


def _variants(program: Program, op: Op, target: Target, constant_bytes: int) -> Variants:
    """Every algorithm for an operator, whether or not the target has its kernels."""
    return {
        name: KernelSelection(program, lowered, algorithms.registry()[name], target, constant_bytes)
        for name, lowered in algorithms.lower(program, op, target).items()
    } or {"": KernelSelection(program, op, algorithms.algorithm_of(op), target, constant_bytes)}


def _check_possible(variants: Iterable[Variants], target: Target) -> None:
    """ProfileError or PlanError that lists everything that is missing, unless each operator has a
    possible variant.
    """
    missing = [
        words
        for of_op in variants
        if all(variant.missing() for variant in of_op.values())
        for words in of_op.get(algorithms.DIRECT, of_op[next(iter(of_op))]).missing()
    ]
    text = ", ".join(sorted({*missing}))
    if text and target.profile:
        raise _excluded(text, target.profile)
    if text:
        raise PlanError(
            f"the model needs {text}, which {target.name} cannot run",
            hint="add one to kernels/, at least a portable one",
        )


def _check_remaining_copies(planned: Program, target: Target) -> None:
    """ProfileError if concat elision has left an operator that the profile lacks."""
    types = {op.type for op in planned.ops if op.type in concat_elision.ELIDED_TYPES}
    missing = {type for type in types if not target.holds(type)}
    if missing and target.profile:
        raise _excluded(", ".join(sorted(missing)), target.profile)


def _excluded(missing: str, profile: Profile) -> ProfileError:
    return ProfileError(
        f"the model needs {missing}, which the profile excludes",
        where=f"profile {profile.name}",
        hint="use another profile, or none: then the binary holds exactly what the model needs",
    )


def _allowed(variants: Variants, overrides: Plan) -> Variants:
    """The possible variants among the allowed algorithms that are exact enough, or one other if
    there is none.
    """
    possible = {name: variant for name, variant in variants.items() if not variant.missing()}
    fallback = algorithms.DIRECT if algorithms.DIRECT in possible else next(iter(possible))
    allowed = {name: variant for name, variant in possible.items() if name in overrides.algorithms}
    bound = rounding.bound(overrides.accuracy)
    exact = {name: variant for name, variant in allowed.items() if variant.error() <= bound}
    return exact or allowed or {fallback: possible[fallback]}


def _select(
    variants: Variants, allowed: Variants, choice: Choice, candidates: FusionCandidates
) -> KernelSelection:
    """Selects the variant that `choice` names, or else the cheapest of the `allowed` ones, and
    assigns its kernels.

    The cost of a variant includes the operators that it leaves and another variant would absorb.
    """
    if choice.algorithm:
        _check_algorithm(choice.algorithm, variants)
        variant = variants[choice.algorithm]
    elif len(allowed) == 1:
        (variant,) = allowed.values()
    else:
        unfused = candidates.unfused_cycles(allowed)
        variant = allowed[min(allowed, key=lambda name: allowed[name].min_cycles() + unfused[name])]
    _check_values(variant.op, choice.values)
    variant.assign(choice.values)
    return variant


def _check_algorithm(name: str, variants: Variants) -> None:
    """PlanError with the reason if the named algorithm is not possible."""
    possible = [other for other, variant in variants.items() if not variant.missing()]
    if name in possible:
        return
    any_variant = next(iter(variants.values()))
    reason = ""
    if name in variants:
        profile = any_variant.target.profile
        owner = f"the profile {profile.name}" if profile else any_variant.target.name
        reason = f": {owner} lacks {', '.join(variants[name].missing())}"
    raise PlanError(
        f"{name} cannot compute this operator{reason}",
        where=_where(any_variant.op),
        hint="only operators with packed weights have a choice of algorithms"
        if "" in variants
        else f"remove algorithm, or use {', '.join(possible)}",
    )


def _check_values(op: Op, values: Mapping[str, Value]) -> None:
    """PlanError for an unknown plan attribute or a value outside its range. Kernel names are
    checked where kernels are assigned.
    """
    attributes = {a.name: a for a in op.schema.attributes if a.plan}
    if unknown := [name for name in values if name not in attributes]:
        raise PlanError(
            f"the plan of the operator has no {', '.join(unknown)}",
            where=_where(op),
            hint=f"it has {', '.join(attributes) or 'nothing to decide'}",
        )
    for name, value in values.items():
        match attributes[name].type:
            case "kernel":
                is_valid, hint = isinstance(value, str), "use the name of a kernel, in quotes"
            case "bool":
                is_valid, hint = isinstance(value, bool), "use true or false"
            case _:
                low, high = attributes[name].range
                is_valid = type(value) is int and low <= value <= high
                hint = f"use a number from {low} to {high}"
        if not is_valid:
            raise PlanError(f"{name} cannot be {value!r}", where=_where(op), hint=hint)


def _set_block_sizes(program: Program, op: Op, target: Target, choice: Choice) -> None:
    """Sets an operator's block sizes to the values of `choice`, or else by the rules."""
    if algorithm := algorithms.algorithm_of(op):
        sizes = algorithm.block_sizes(program, op, target)
    else:
        sizes = {
            name: rule(program, op, target)
            for name, rule in blocking.RULES.items()
            if name in op.attributes
        }
    for name, value in sizes.items():
        range = op.schema.attribute(name).range
        op.attributes[name] = choice.values.get(name, min(value, range[1]) if range else value)


def _where(op: Op) -> str:
    return f"operator {op.name} ({op.type})"
