"""Instance normalization."""

from __future__ import annotations

from trimtab.gradients import _normalize
from trimtab.gradients._differentiated import DifferentiatedOp


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of other operators."""
    _, channels, *image = op.shape(op.x())
    axes = range(2, 2 + len(image))
    y, _, _ = _normalize.normalized(op, op.x(), axes, op.attributes["epsilon"])
    scale, bias = (op.reshape(op.x(i), channels, *(1 for _ in image)) for i in (1, 2))
    return op.add("add", op.add("mul", y, scale), bias)
