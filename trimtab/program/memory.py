"""The memory of the computed tensors of a program: lifetimes, aliases and the peak size."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from trimtab.program.program import Op, Program


def activation_bytes(program: Program) -> int:
    """The peak size in bytes of the computed tensors that are live at the same operator; aliases
    count once.
    """
    change = [0] * (len(program.ops) + 2)
    for tensor in lifetimes(program):
        change[tensor.first] += tensor.bytes
        change[tensor.last + 1] -= tensor.bytes
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
    plan = _MemoryPlan(program)
    for i, op in enumerate(program.ops):
        plan.alias_in_place(i, op)
    return [
        TensorLifetime(name, program.vars[name].bytes, i, plan.last[name])
        for name, i in plan.first.items()
    ]


class _MemoryPlan:
    """First and last operator of each storage owner, as the engine plans them
    (runtime/core/executor.cpp).
    """

    def __init__(self, program: Program) -> None:
        self.vars = program.vars
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self._aliases: dict[str, str] = {}  # tensor -> its storage owner
        for i, op in enumerate(program.ops):
            if op.schema.view:
                self._aliases[op.outputs[0]] = self._owner(op.inputs[0])
            for name in op.outputs if not op.schema.prepares else ():
                self.first.setdefault(self._owner(name), i)
            for name in (*op.inputs, *op.outputs):
                if name:
                    self.last[self._owner(name)] = i
        for name in program.outputs:
            self.last[self._owner(name)] = len(program.ops)
        for name in [*self.first]:
            if self.vars[name].data is not None or name in program.inputs:
                del self.first[name]

    def _owner(self, name: str) -> str:
        owner = self.vars[name].parent or name
        while owner in self._aliases:
            owner = self._aliases[owner]
        return owner

    def alias_in_place(self, i: int, op: Op) -> None:
        """Writes the result of operator number `i` into an in-place input that it reads last."""
        reads = [
            (name, port.in_place and self._same_place(name, op.outputs[0]))
            for port, name in zip(op.schema.inputs, op.inputs, strict=False)
            if name
        ]
        result = self._owner(op.outputs[0])
        for owner in [self._owner(name) for name, in_place in reads if in_place]:
            if (
                owner in self.first
                and self.vars[owner].bytes == self.vars[result].bytes
                and self.last[owner] == i == self.first.get(result)
                and all(in_place for name, in_place in reads if self._owner(name) == owner)
            ):
                self.last[owner] = self.last[result]
                del self.first[result]
                self._aliases[result] = owner
                return

    def _same_place(self, x: str, y: str) -> bool:
        a, b = self.vars[x], self.vars[y]
        whole_a, whole_b = (self.vars[v.parent or v.name].shape for v in (a, b))
        return (a.shape, a.layout, a.channel, whole_a) == (b.shape, b.layout, b.channel, whole_b)
