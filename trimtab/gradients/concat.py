"""Concatenation."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    axis = op.attributes["axis"] % len(op.shape(op.y))
    sizes = [op.shape(name)[axis] for name in op.inputs]
    begin = sum(sizes[:index])
    return op.add("slice", op.dy, starts=[begin], ends=[begin + sizes[index]], axes=[axis])
