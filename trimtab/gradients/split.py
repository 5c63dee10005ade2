"""Split into parts."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    parts = [op.gradient_of(i) for i in range(len(op.outputs))]
    return op.add("concat", *parts, axis=op.attributes["axis"])
