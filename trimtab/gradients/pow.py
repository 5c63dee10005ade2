"""Power with a constant exponent."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    if index == 1:
        raise op.refused("the exponent cannot be trained")
    exponent = op.value(1)
    slope = op.add("pow", op.x(0), op.constant(exponent - 1))
    slope = op.add("mul", slope, op.constant(exponent))
    return op.sum_to(op.add("mul", op.dy, slope), op.shape(op.x(0)))
