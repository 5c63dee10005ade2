"""Softmax."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    axis = op.attributes["axis"]
    product = op.add("mul", op.dy, op.y)
    return op.add("sub", product, op.add("mul", op.y, op.sum(product, axis)))
