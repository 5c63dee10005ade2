"""y = x / (1 + |x|), whose slope is (1 - |y|)²."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    rest = op.plus(op.add("neg", op.add("abs", op.y)), 1)
    return op.add("mul", op.dy, op.add("mul", rest, rest))
