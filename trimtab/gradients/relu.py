"""Rectifier."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    return op.add("clip_gradient", op.dy, op.y, alpha=0)
