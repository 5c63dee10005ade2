"""Logarithm of softmax."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    total = op.sum(op.dy, op.attributes["axis"])
    return op.add("sub", op.dy, op.add("mul", op.add("exp", op.y), total))
