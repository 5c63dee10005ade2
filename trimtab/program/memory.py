"""How much memory the computed tensors of a program need."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from trimtab.program.program import Op, Program


def activation_bytes(program: Program) -> int:
    """Largest sum of the bytes of computed tensors alive at one operator; views, parts and results
    that are written where an input lies share the memory of what they show.
    """
    change = [0] * (len(program.ops) + 2)
    for held in lifetimes(program):
        change[held.first] += held.bytes
        change[held.last + 1] -= held.bytes
    return max(accumulate(change))


@dataclass(frozen=True)
class Held:
    """Memory that a computed tensor needs, from the operator `first` to `last`, both included; one
    more than there are operators: an output.
    """

    name: str
    bytes: int
    first: int
    last: int


def lifetimes(program: Program) -> list[Held]:
    """What the activations of a program hold, in the order in which it comes to be."""
    alive = _Lifetimes(program)
    for i, op in enumerate(program.ops):
        alive.share_in_place(i, op)
    return [
        Held(name, program.vars[name].bytes, i, alive.last[name]) for name, i in alive.first.items()
    ]


class _Lifetimes:
    """From which operator to which the memory of a variable is used, as the engine plans it
    (runtime/core/executor.cpp).
    """

    def __init__(self, program: Program) -> None:
        self.vars = program.vars
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self._shown: dict[str, str] = {}
        for i, op in enumerate(program.ops):
            if op.schema.view:
                self._shown[op.outputs[0]] = self._home(op.inputs[0])
            for name in op.outputs if not op.schema.prepares else ():
                self.first.setdefault(self._home(name), i)
            for name in (*op.inputs, *op.outputs):
                if name:
                    self.last[self._home(name)] = i
        for name in program.outputs:
            self.last[self._home(name)] = len(program.ops)
        for name in [*self.first]:
            if self.vars[name].data is not None or name in program.inputs:
                del self.first[name]

    def _home(self, name: str) -> str:
        home = self.vars[name].parent or name
        while home in self._shown:
            home = self._shown[home]
        return home

    def share_in_place(self, i: int, op: Op) -> None:
        """Lets the result of operator number `i` take the place of an input that dies there."""
        reads = [
            (name, port.in_place and self._same_place(name, op.outputs[0]))
            for port, name in zip(op.schema.inputs, op.inputs, strict=False)
            if name
        ]
        taken = self._home(op.outputs[0])
        for home in [self._home(name) for name, in_place in reads if in_place]:
            if (
                home in self.first
                and self.vars[home].bytes == self.vars[taken].bytes
                and self.last[home] == i == self.first.get(taken)
                and all(in_place for name, in_place in reads if self._home(name) == home)
            ):
                self.last[home] = self.last[taken]
                del self.first[taken]
                self._shown[taken] = home
                return

    def _same_place(self, x: str, y: str) -> bool:
        a, b = self.vars[x], self.vars[y]
        whole_a, whole_b = (self.vars[v.parent or v.name].shape for v in (a, b))
        return (a.shape, a.layout, a.channel, whole_a) == (b.shape, b.layout, b.channel, whole_b)
