"""Conversion between float types."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    return op.add("cast", op.dy, to=op.block.vars[op.x()].dtype)
