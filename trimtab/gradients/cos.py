"""Cosine."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    return op.add("neg", op.add("mul", op.dy, op.add("sin", op.x())))
