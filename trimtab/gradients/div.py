"""Division."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    quotient = op.add("div", op.dy, op.x(1))
    if index == 1:
        quotient = op.add("neg", op.add("mul", quotient, op.y))
    return op.sum_to(quotient, op.shape(op.x(index)))
