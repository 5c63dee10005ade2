"""Subtraction."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    dy = op.dy if index == 0 else op.add("neg", op.dy)
    return op.sum_to(dy, op.shape(op.x(index)))
