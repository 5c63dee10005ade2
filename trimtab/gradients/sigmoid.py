"""Logistic function."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    slope = op.add("sub", op.y, op.add("mul", op.y, op.y))
    return op.add("mul", op.dy, slope)
