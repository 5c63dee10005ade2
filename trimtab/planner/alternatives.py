"""Alternatives to a plan: other algorithms, kernels and block sizes, the likely ones first.

The cost model ranks them; a measurement decides (`trimtab.tuning`). An algorithm may absorb the
operators before it, so an alternative may change several operators together: those of its region.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from trimtab import kernels
from trimtab.kernels import Kernel
from trimtab.planner import algorithms, planner, rounding
from trimtab.planner.cost import NO_COST, Cost, bytes_per_cycle
from trimtab.planner.kernel_selection import KernelSelection
from trimtab.planner.plan_file import Choice, Plan, operator_keys, plan_of
from trimtab.planner.producer_fusion import absorbed_by
from trimtab.program import Op, Program
from trimtab.target import Target

LIMIT = 1.6  # the largest modeled cost, relative to the plan's own, that is worth a measurement
MAX_PER_OPERATOR = 8

Choices = Mapping[str, Choice]
"""Choices of operators by the names of their first outputs; absorbed operators have none."""


@dataclass(frozen=True)
class Alternative:
    """Other choices for the operators of a region.

    `region`: first outputs of all operators that are computed in another way; `choices`: those of
    the operators that remain in the region; `ratio`: modeled cost relative to the present plan's, 1
    for block sizes, which the cost model does not know; `is_block_size`: only a block size differs;
    `traffic`: the part of the present plan's modeled cost that is memory traffic, before and after;
    `is_unscheduled`: the target has the same kernel with instructions in the order that its core
    needs.
    """

    region: frozenset[str]
    choices: Choices
    ratio: float
    is_block_size: bool = False
    traffic: tuple[float, float] = (0.0, 0.0)
    is_unscheduled: bool = False

    def applied(self, present: Choices) -> dict[str, Choice]:
        """The choices of a plan with this alternative in place of its own."""
        others = {name: choice for name, choice in present.items() if name not in self.region}
        return {**others, **self.choices}


class DecidedPlan:
    """A plan whose decisions are all explicit.

    `program`: the optimized program, with a dtype for every operator; `plan`: what the user decided
    (precision, storage of weights, threads); `choices`: the decision of each operator that the plan
    computes; `planned`: the program with these decisions, as an engine runs it.
    """

    def __init__(self, program: Program, target: Target, plan: Plan, planned: Program) -> None:
        """`planned` is the result of `planner.plan` for the other arguments."""
        self.program, self.target, self.plan, self.planned = program, target, plan, planned
        explicit = plan_of(planned).operators
        outputs = dict(
            zip(operator_keys(planned), (op.outputs[0] for op in planned.ops), strict=True)
        )
        self.choices: Choices = {outputs[key]: choice for key, choice in explicit.items()}

    def with_choices(self, choices: Choices) -> DecidedPlan:
        """The same network with other decisions; PlanError if they contradict each other."""
        planned = planner.plan(
            self.program, self.target, self.plan_with(choices), has_all_code=True
        )
        return DecidedPlan(self.program, self.target, self.plan, planned)

    def plan_with(self, choices: Choices) -> Plan:
        """The plan file of these decisions."""
        keys = dict(
            zip(
                (op.outputs[0] for op in self.program.ops), operator_keys(self.program), strict=True
            )
        )
        return replace(self.plan, operators={keys[name]: choices[name] for name in choices})

    def as_plan(self) -> Plan:
        """The plan file of all decisions."""
        return self.plan_with(self.choices)

    @cached_property
    def covers(self) -> Mapping[str, frozenset[str]]:
        """The first outputs of the operators that each operator of the plan computes: its own, and
        those that it absorbs.
        """
        operators = _Operators(self.program, self.target, rounding.bound(self.plan.accuracy))
        return {
            name: operators.covers(name, choice.algorithm) for name, choice in self.choices.items()
        }

    def alternatives(self) -> Iterator[Alternative]:
        """Yields the alternatives of every operator, the likely ones of each first."""
        operators = _Operators(self.program, self.target, rounding.bound(self.plan.accuracy))
        absorbed = set[str]().union(*(own - {name} for name, own in self.covers.items()))
        ops = {op.outputs[0]: op for op in self.planned.ops}
        for name in operators.selections:
            variants = [*self._others(operators, name, is_absorbed=name in absorbed)]
            variants.sort(key=lambda one: one.ratio)
            yield from variants[:MAX_PER_OPERATOR]
            if name in self.choices:
                yield from self._block_sizes(name, ops[name])

    def _others(
        self, operators: _Operators, name: str, *, is_absorbed: bool
    ) -> Iterator[Alternative]:
        """The other algorithms and kernels of one operator; if the plan absorbs it, only the
        algorithms that absorb others in turn.
        """
        for algorithm in operators.selections[name]:
            own = operators.covers(name, algorithm)
            if not operators.is_exact(name, algorithm) or (is_absorbed and own == {name}):
                continue
            touched = [unit for unit, covered in self.covers.items() if covered & own]
            region = own.union(*(self.covers[unit] for unit in touched))
            rest = {
                other: choice
                for other in sorted(region - own)
                if (choice := operators.alone(other, self.choices.get(other), self.covers))
            }
            if len(rest) != len(region - own):
                continue
            before = operators.total({unit: self.choices[unit] for unit in touched})
            for kernel in operators.kernels(name, algorithm):
                choice = operators.choice(name, algorithm, kernel)
                present = self.choices.get(name)
                if present and _same_code(choice, present):
                    continue
                choices = {**rest, name: choice}
                after = operators.total(choices)
                scale = 1 / before.cycles if before.cycles else 0.0
                ratio = after.cycles * scale if scale else 1.0
                speed = scale / bytes_per_cycle(self.target)
                traffic = before.bytes * speed, after.bytes * speed
                is_unscheduled = operators.is_unscheduled(kernel)
                if ratio <= LIMIT:
                    yield Alternative(region, choices, ratio, False, traffic, is_unscheduled)

    def _block_sizes(self, name: str, op: Op) -> Iterator[Alternative]:
        choice = self.choices[name]
        for attribute in op.schema.attributes:
            if not attribute.plan or attribute.type == "kernel":
                continue
            for value in self._other_sizes(op, attribute.name, op.attributes[attribute.name]):
                low, high = attribute.range or (0, 1)
                if low <= value <= high:
                    values = {**choice.values, attribute.name: value}
                    other = replace(choice, values=values)
                    yield Alternative(self.covers[name], {name: other}, 1.0, is_block_size=True)

    def _other_sizes(self, op: Op, attribute: str, value: int | bool) -> Iterable[int | bool]:
        """Neighboring values of a block size."""
        if isinstance(value, bool):
            return (not value,)
        if attribute.endswith("gap"):
            line = self.target.core.l1d.line_bytes // 4
            return (0,) if value else (line,)
        sizes = [size for size in (value // 2, value * 2) if size and size != value]
        if attribute in ("panels", "merged"):
            groups = int(op.attributes.get("group", 1))
            columns = self.planned.vars[op.outputs[0]].shape[-1 if op.type == "gemm" else 1]
            columns //= groups
            nr = kernels.kernel(op.attributes["kernel"]).packing[1] or 1
            if attribute == "merged":
                return [size for size in sizes if groups % size == 0 and columns * size <= nr]
            sizes = [size for size in sizes if size < value or value * nr < columns]
        return sizes


class _Operators:
    """The operators of a program with every algorithm that the target can run. `error`: the largest
    rounding error of an alternative (`rounding.bound`).
    """

    def __init__(self, program: Program, target: Target, error: float) -> None:
        constant_bytes = program.constant_bytes()
        self._program, self._target, self._error = program, target, error
        self._producers = {name: op for op in program.ops for name in op.outputs}
        self.selections: dict[str, dict[str, KernelSelection]] = {}
        for op in program.ops:
            lowered = algorithms.lower(program, op, target)
            own = algorithms.algorithm_of(op)
            variants = {
                name: KernelSelection(
                    program, derived, algorithms.registry()[name], target, constant_bytes
                )
                for name, derived in lowered.items()
            } or {
                own.name if own else "": KernelSelection(program, op, own, target, constant_bytes)
            }
            possible = {name: one for name, one in variants.items() if not one.missing()}
            if any(
                a.type == "kernel" for one in possible.values() for a in one.op.schema.attributes
            ):
                self.selections[op.outputs[0]] = possible

    def covers(self, name: str, algorithm: str) -> frozenset[str]:
        """First outputs of the operators that an algorithm at `name` computes."""
        selection = self.selections.get(name, {}).get(algorithm)
        return frozenset([name, *(absorbed_by(self._producers, selection) if selection else ())])

    def is_exact(self, name: str, algorithm: str) -> bool:
        """Whether an algorithm rounds no more than an alternative may."""
        return self.selections[name][algorithm].error() <= self._error

    def kernels(self, name: str, algorithm: str) -> list[Kernel]:
        """The candidates for an operator's main kernel; portable ones only if there is no other."""
        selection = self.selections[name][algorithm]
        attributes = {a.name: a for a in selection.op.schema.attributes}
        if "kernel" not in attributes:
            return []
        candidates = selection.candidates(attributes["kernel"])
        return [k for k in candidates if not k.portable] or list(candidates)

    def choice(self, name: str, algorithm: str, kernel: Kernel) -> Choice:
        """The choice of an algorithm and its main kernel; its other kernels are those of the
        rule.
        """
        selection = self.selections[name][algorithm]
        own = selection.op
        op = Op(own.type, [*own.inputs], [*own.outputs], dict(own.attributes), own.name)
        replace(selection, op=op).assign({"kernel": kernel.name})
        names = [a.name for a in op.schema.attributes if a.type == "kernel"]
        return Choice(algorithm, {n: op.attributes[n] for n in names if op.attributes[n]})

    def _cost(self, name: str, choice: Choice) -> Cost:
        """Modeled cost of an operator with this choice; none without a choice of algorithms."""
        selection = self.selections.get(name, {}).get(choice.algorithm)
        if selection is None or selection.algorithm is None:
            return NO_COST
        kernel = kernels.kernel(str(choice.values["kernel"]))
        slower = kernels.isas()[kernel.isa].slower.get(kernel.family, 1)
        cost = selection.cost_with(kernel)
        return Cost(slower * cost.cycles, cost.bytes)

    def is_unscheduled(self, kernel: Kernel) -> bool:
        """Whether the target has the same kernel in another order of instructions, for its core."""
        return any(
            other.packing == kernel.packing and kernels.isas()[other.isa].cores
            for other in self._target.families.get((kernel.family, kernel.dtype), ())
            if other.isa != kernel.isa
        )

    def total(self, choices: Choices) -> Cost:
        """Modeled cost of operators with these choices."""
        costs = [self._cost(name, choice) for name, choice in choices.items()]
        return Cost(sum(cost.cycles for cost in costs), sum(cost.bytes for cost in costs))

    def alone(
        self, name: str, present: Choice | None, covers: Mapping[str, frozenset[str]]
    ) -> Choice | None:
        """The choice of an operator that absorbs nothing and is not absorbed: its present one if it
        is such a choice, else the best by the cost model; None if there is none.
        """
        if present and covers[name] == {name}:
            return present
        options = [
            (self._cost(name, choice).cycles, -kernels.isas()[kernel.isa].rank, kernel.name, choice)
            for algorithm in self.selections.get(name, {})
            if self.is_exact(name, algorithm) and self.covers(name, algorithm) == {name}
            for kernel in self.kernels(name, algorithm)
            for choice in [self.choice(name, algorithm, kernel)]
        ]
        return min(options, key=lambda one: one[:3])[3] if options else None


def _same_code(choice: Choice, other: Choice) -> bool:
    """Whether two choices differ at most in block sizes."""
    names = {*choice.values} | {name for name in other.values if name.endswith("kernel")}
    return choice.algorithm == other.algorithm and all(
        choice.values.get(name) == other.values.get(name) for name in names
    )
