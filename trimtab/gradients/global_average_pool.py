"""Mean of each channel."""

from __future__ import annotations

import math

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    shape = op.shape(op.x())
    return op.add("expand", op.times(op.dy, 1 / math.prod(shape[2:])), shape=shape)
