"""The memory of the computed tensors of a program: lifetimes, aliases and the peak size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from trimtab.program.block import Op
from trimtab.program.program import Program


def activation_bytes(program: Program, operands: Operands | None = None) -> int:
    """The peak size in bytes of the computed tensors that are live at the same operator; aliases
    count once. `operands` keeps facts of operators from one call to the next.
    """
    plan = _MemoryPlan(program, {} if operands is None else operands)
    change = [0] * (len(program.ops) + 2)
    for name, first in plan.first.items():
        size = plan.vars[name].bytes
        change[first] += size
        change[plan.last[name] + 1] -= size
    return max(accumulate(change))


def prepared_bytes(program: Program) -> int:
    """The size in bytes of the constants that the engine makes from others when it loads."""
    return sum(
        program.vars[name].bytes for op in program.ops if op.schema.prepares for name in op.outputs
    )


def constant_bytes(program: Program) -> int:
    """The size in bytes of the constants in a program's file."""
    return sum(var.data.nbytes for var in program.constants() if var.data is not None)


@dataclass(frozen=True)
class TensorLifetime:
    """The lifetime of a computed tensor: the operators `first` to `last`, inclusive. `last` of a
    graph output is the number of operators.
    """

    name: str
    bytes: int
    first: int
    last: int


def lifetimes(program: Program) -> list[TensorLifetime]:
    """The lifetimes of the storage owners of a program, in the order of their first operators."""
    plan = _MemoryPlan(program, {})
    return [
        TensorLifetime(name, program.vars[name].bytes, i, plan.last[name])
        for name, i in plan.first.items()
    ]


class _Operands(NamedTuple):
    """The operands of an operator, without absent ones. `view`: the result is a view of the first
    input; `prepares`: it is a prepared constant; `in_place`: which inputs the result may overwrite,
    empty if none.
    """

    op: Op
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    view: bool
    prepares: bool
    in_place: tuple[bool, ...]

    @staticmethod
    def of(op: Op) -> _Operands:
        schema = op.schema
        in_place = tuple(port.in_place for port in schema.inputs)
        inputs, outputs = tuple(filter(None, op.inputs)), tuple(op.outputs)
        may_overwrite = in_place if any(in_place) else ()
        return _Operands(op, inputs, outputs, schema.view, schema.prepares, may_overwrite)


Operands = dict[int, _Operands]
"""The operands of each operator, by the id() of the operator; valid while no operator changes."""


class _MemoryPlan:
    """First and last operator of each storage owner, as the engine plans them
    (runtime/core/executor.cpp).
    """

    def __init__(self, program: Program, operands: Operands) -> None:
        self.vars, ops = program.vars, program.ops
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self._aliases: dict[str, str] = {}  # tensor -> its storage owner
        for op in ops:
            if id(op) not in operands:
                operands[id(op)] = _Operands.of(op)
        of_ops = [operands[id(op)] for op in ops]
        owner_of = self._owner
        for i, (_, inputs, outputs, view, prepares, _) in enumerate(of_ops):
            for name in inputs:
                self.last[owner_of(name)] = i
            if view:
                self._aliases[outputs[0]] = owner_of(inputs[0])
            for name in outputs:
                owner = owner_of(name)
                self.last[owner] = i
                if not prepares:
                    self.first.setdefault(owner, i)
        for name in program.outputs:
            self.last[self._owner(name)] = len(ops)
        for name in [*self.first]:
            if self.vars[name].data is not None or name in program.inputs:
                del self.first[name]
        for i, of_op in enumerate(of_ops):
            if of_op.in_place:
                self._alias_in_place(i, of_op.op, of_op.in_place)

    def _owner(self, name: str) -> str:
        owner = self.vars[name].parent or name
        while owner in self._aliases:
            owner = self._aliases[owner]
        return owner

    def _alias_in_place(self, i: int, op: Op, in_place: tuple[bool, ...]) -> None:
        """Writes the result of operator number `i` into an input that it may overwrite and reads
        last.
        """
        y = op.outputs[0]
        result = self._owner(y)
        if self.first.get(result) != i:
            return
        reads = [
            (self._owner(name), may and self._same_place(name, y))
            for may, name in zip(in_place, op.inputs, strict=False)
            if name
        ]
        for owner in [owner for owner, fits in reads if fits]:
            if (
                self.last[owner] == i
                and owner in self.first
                and self.vars[owner].bytes == self.vars[result].bytes
                and all(fits for other, fits in reads if other == owner)
            ):
                self.last[owner] = self.last[result]
                del self.first[result]
                self._aliases[result] = owner
                return

    def _same_place(self, x: str, y: str) -> bool:
        a, b = self.vars[x], self.vars[y]
        if (a.shape, a.layout, a.channel) != (b.shape, b.layout, b.channel):
            return False
        whole_a, whole_b = (self.vars[v.parent].shape if v.parent else v.shape for v in (a, b))
        return whole_a == whole_b
