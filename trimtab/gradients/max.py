"""Maximum of two operands; at equal ones the second takes the gradient."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    first = op.add("clip_gradient", op.dy, op.add("sub", op.x(0), op.x(1)), alpha=0)
    dx = first if index == 0 else op.add("sub", op.dy, first)
    return op.sum_to(dx, op.shape(op.x(index)))
