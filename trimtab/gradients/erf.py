"""Error function."""

from __future__ import annotations

import math

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    power = op.add("exp", op.add("neg", op.add("mul", op.x(), op.x())))
    return op.add("mul", op.dy, op.times(power, 2 / math.sqrt(math.pi)))
