"""y = x Phi(x), by the error function or its approximation by tanh."""

from __future__ import annotations

import math

from trimtab.gradients._differentiated import DifferentiatedOp


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of other operators."""
    x = op.x()
    if op.attributes["alpha"]:
        cube = op.add("mul", op.add("mul", x, x), op.times(x, 0.044715))
        gate = op.add("tanh", op.times(op.add("add", x, cube), math.sqrt(2 / math.pi)))
    else:
        gate = op.add("erf", op.times(x, math.sqrt(1 / 2)))
    return op.add("mul", op.times(x, 0.5), op.plus(gate, 1))
