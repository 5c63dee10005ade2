"""Rectifier with a slope that can be trained."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    if index == 1:
        raise op.refused("its slope must be a parameter")
    positive = op.add("clip_gradient", op.dy, op.x(), alpha=0)
    negative = op.add("sub", op.dy, positive)
    return op.add("add", positive, op.add("mul", negative, op.x(1)))


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of other operators."""
    negative = op.add("relu", op.add("neg", op.x()))
    return op.add("sub", op.add("relu", op.x()), op.add("mul", negative, op.x(1)))
