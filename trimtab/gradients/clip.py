"""Clip: the result tells where it is inside of the bounds."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    low, high = op.attributes["alpha"], op.attributes["beta"]
    return op.add("clip_gradient", op.dy, op.y, alpha=low, beta=high)
