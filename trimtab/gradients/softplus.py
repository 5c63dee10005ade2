"""y = log(1 + exp(x))."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    return op.add("mul", op.dy, op.add("sigmoid", op.x()))
