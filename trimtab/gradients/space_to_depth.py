"""Space to depth."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    return op.add("depth_to_space", op.dy, block_size=op.attributes["block_size"])
