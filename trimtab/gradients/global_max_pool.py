"""Maximum of each channel: the first of equal maxima takes the gradient."""

from __future__ import annotations

import math

import numpy as np

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    n, c, *image = op.shape(op.x())
    pixels = op.reshape(op.x(), n, c, math.prod(image))
    first = op.add("arg_max", pixels, axis=2)
    place = op.constant(np.arange(math.prod(image)), "int64")
    is_first = op.add("compare", first, place, relation="equal")
    dy = op.add("where", is_first, op.reshape(op.dy, n, c, 1), op.constant([0.0]))
    return op.reshape(dy, n, c, *image)
