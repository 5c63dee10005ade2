"""y = x where x is positive, else alpha (exp(x) - 1)."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    positive = op.add("clip_gradient", op.dy, op.x(), alpha=0)
    slope = op.plus(op.add("clip", op.y, beta=0), op.attributes["alpha"])
    negative = op.add("mul", op.add("sub", op.dy, positive), slope)
    return op.add("add", positive, negative)
