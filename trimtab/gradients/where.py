"""Selection."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    zeros = op.constant([0.0])
    chosen = (op.dy, zeros) if index == 1 else (zeros, op.dy)
    return op.sum_to(op.add("where", op.x(0), *chosen), op.shape(op.x(index)))
