"""Mean along dimensions."""

from __future__ import annotations

import math

from trimtab.gradients._differentiated import DifferentiatedOp


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of other operators."""
    total = op.add("reduce_sum", op.x(), **op.attributes)
    return op.times(total, math.prod(op.shape(op.y)) / math.prod(op.shape(op.x())))
