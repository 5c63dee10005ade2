"""Repetition along dimensions."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    shape = op.shape(op.x())
    repeats = op.attributes["repeats"]
    pairs = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    dy = op.reshape(op.dy, *pairs)
    return op.reshape(op.sum(dy, *range(0, len(pairs), 2)), *shape)
