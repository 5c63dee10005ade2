"""Producer fusion: which earlier operators an algorithm absorbs, and their cost if it does not."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

from trimtab.planner.kernel_selection import KernelSelection
from trimtab.program import Op, Program

Variants = Mapping[str, KernelSelection]
"""Variants of one operator by the names of algorithms; "" for an operator without a choice."""


def absorbed_by(producers: Mapping[str, Op], variant: KernelSelection) -> set[str]:
    """First outputs of the operators that `variant` absorbs: those between its own inputs and the
    inputs of the operator that it was lowered from. `producers`: the operator of each tensor.
    """
    lowered_from = producers.get(variant.op.outputs[0])
    outputs, pending = set[str](), [*lowered_from.inputs] if lowered_from else []
    while pending:
        name = pending.pop()
        producer = producers.get(name)
        if producer is not None and name not in variant.op.inputs:
            outputs.add(producer.outputs[0])
            pending += producer.inputs
    return outputs


class FusionCandidates:
    """The operators of a program that a later operator may absorb.

    `variants`: the allowed variants of each operator. `fixed`: first outputs of operators that the
    rule must not absorb, because a plan configures them.
    """

    def __init__(
        self, program: Program, variants: Iterable[Variants], fixed: Collection[str]
    ) -> None:
        self._fixed = fixed
        self._producers = {name: op for op in program.ops for name in op.outputs}
        pairs = zip(program.ops, variants, strict=True)
        self._variants = {op.outputs[0]: of_op for op, of_op in pairs}

    def absorbed(self, variant: KernelSelection) -> set[str]:
        """First outputs of the operators that `variant` absorbs."""
        return absorbed_by(self._producers, variant)

    def unfused_cycles(self, variants: Variants) -> dict[str, float]:
        """Cycles of the operators that a variant does not absorb but another one does, by variant;
        infinite for a variant that would absorb a fixed operator.
        """
        absorbed = {name: self.absorbed(variant) for name, variant in variants.items()}
        all_absorbed = set[str]().union(*absorbed.values())
        return {
            name: math.inf
            if not own.isdisjoint(self._fixed)
            else sum(self._unfused_cycles_of(output) for output in sorted(all_absorbed - own))
            for name, own in absorbed.items()
        }

    def _unfused_cycles_of(self, output: str) -> float:
        """Cycles of one operator that absorbs nothing itself."""
        variants = self._variants[output].values()
        return min((v.min_cycles() for v in variants if not self.absorbed(v)), default=0.0)


def remove_absorbed(
    ops: Iterable[Op], absorbed: Collection[str], outputs: Iterable[str]
) -> list[Op]:
    """Removes the operators whose first outputs are `absorbed`, unless a remaining operator or one
    of the program's `outputs` needs them.
    """
    needed, remaining = {*outputs}, list[Op]()
    for op in reversed([*ops]):
        if op.outputs[0] not in absorbed or not needed.isdisjoint(op.outputs):
            remaining.append(op)
            needed.update(op.inputs)
    return remaining[::-1]
