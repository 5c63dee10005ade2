"""y = clip(alpha x + beta, 0, 1)."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    inside = op.add("clip_gradient", op.dy, op.y, alpha=0, beta=1)
    return op.times(inside, op.attributes["alpha"])
