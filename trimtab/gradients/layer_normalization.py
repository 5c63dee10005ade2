"""Layer normalization."""

from __future__ import annotations

from trimtab.gradients import _normalize
from trimtab.gradients._differentiated import DifferentiatedOp


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of other operators."""
    rank = len(op.shape(op.x()))
    axes = range(op.attributes["axis"] % rank, rank)
    y, _, _ = _normalize.normalized(op, op.x(), axes, op.attributes["epsilon"])
    y = op.add("mul", y, op.x(1))
    return op.add("add", y, op.x(2)) if op.has(2) else y
