"""y = x clip(x / 6 + 1 / 2, 0, 1)."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    gate = op.add("hard_sigmoid", op.x(), alpha=1 / 6, beta=0.5)
    rest = op.add("mul", op.dy, op.times(op.x(), 1 / 6))
    inside = op.add("clip_gradient", rest, op.x(), alpha=-3, beta=3)
    return op.add("add", op.add("mul", op.dy, gate), inside)
