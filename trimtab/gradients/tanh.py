"""Hyperbolic tangent."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    square = op.add("mul", op.y, op.y)
    return op.add("sub", op.dy, op.add("mul", op.dy, square))
