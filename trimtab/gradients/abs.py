"""Absolute value."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    positive = op.add("clip_gradient", op.dy, op.x(), alpha=0)
    negative = op.add("clip_gradient", op.dy, op.x(), beta=0)
    return op.add("sub", positive, negative)
