"""y = x tanh(softplus(x))."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of other operators."""
    return op.add("mul", op.x(), op.add("tanh", op.add("softplus", op.x())))
