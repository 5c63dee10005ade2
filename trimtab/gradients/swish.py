"""y = x sigmoid(alpha x)."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    alpha = op.attributes["alpha"]
    gate = op.add("sigmoid", op.times(op.x(), alpha))
    rest = op.add("sub", op.y, op.add("mul", op.y, gate))
    return op.add("mul", op.dy, op.add("add", gate, op.times(rest, alpha)))
