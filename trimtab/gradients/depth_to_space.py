"""Depth to space, in the order of space to depth."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    op.attribute("mode", "dcr")
    return op.add("space_to_depth", op.dy, block_size=op.attributes["block_size"])
