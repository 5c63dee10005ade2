"""Operators that another one computes, too: which an algorithm takes over from those before it, and
what it takes to leave them alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from trimtab.planner.kernel_selection import KernelChoice
from trimtab.program import Op, Program

Ways = Mapping[str, KernelChoice]
"""How an operator can be computed, by the names of algorithms; "" is the one way of an operator
that there is no choice for.
"""


class Neighbors:
    """The operators of a program before one that may take them over.

    `ways`: those of each operator that a rule may choose from. `fixed`: the first outputs of
    operators that must not be taken over by a rule.
    """

    def __init__(self, program: Program, ways: Iterable[Ways], fixed: Collection[str]) -> None:
        self._program, self._fixed = program, fixed
        self._ways = {op.outputs[0]: usable for op, usable in zip(program.ops, ways, strict=True)}

    def taken(self, way: KernelChoice) -> set[str]:
        """First outputs of the operators that are not needed for what `way` computes: those between
        its inputs and those of the operator that it was made of.
        """
        maker = self._program.block.producer(way.op.outputs[0])
        found, names = set[str](), [*maker.inputs] if maker else []
        while names:
            name = names.pop()
            before = self._program.block.producer(name) if name else None
            if before is not None and name not in way.op.inputs:
                found.add(before.outputs[0])
                names += before.inputs
        return found

    def left(self, ways: Ways) -> dict[str, float]:
        """What each of the ways of one operator leaves to operators that another of them takes
        over; more than anything, where it takes over one that is fixed.
        """
        taken = {name: self.taken(way) for name, way in ways.items()}
        some = set[str]().union(*taken.values())
        return {
            name: math.inf
            if not own.isdisjoint(self._fixed)
            else sum(self._alone(output) for output in sorted(some - own))
            for name, own in taken.items()
        }

    def _alone(self, output: str) -> float:
        """What an operator takes by itself."""
        ways = self._ways[output].values()
        return min((way.least_cycles() for way in ways if not self.taken(way)), default=0.0)


def without(ops: Iterable[Op], taken: Collection[str], outputs: Iterable[str]) -> list[Op]:
    """`ops` without those whose first outputs are `taken` and that no other one, and none of
    `outputs`, needs.
    """
    needed, kept = {*outputs}, list[Op]()
    for op in reversed([*ops]):
        if op.outputs[0] not in taken or not needed.isdisjoint(op.outputs):
            kept.append(op)
            needed.update(op.inputs)
    return kept[::-1]
