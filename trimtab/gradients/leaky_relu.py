"""Leaky rectifier."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    slope = op.attributes["alpha"]
    positive = op.add("clip_gradient", op.dy, op.x(), alpha=0)
    return op.add("add", op.times(op.dy, slope), op.times(positive, 1 - slope))
