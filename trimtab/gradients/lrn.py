"""Local response normalization across channels: the sum over channels is a 1x1 convolution."""

from __future__ import annotations

import numpy as np

from trimtab.gradients._differentiated import DifferentiatedOp


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of other operators."""
    channels, size = op.shape(op.x())[1], op.attributes["size"]
    distance = np.arange(channels)[None, :] - np.arange(channels)[:, None]
    near = (distance >= -((size - 1) // 2)) & (distance <= size // 2)
    square = op.add("mul", op.x(), op.x())
    weights = op.constant(near[:, :, None, None] * (op.attributes["alpha"] / size))
    total = op.plus(op.add("conv", square, weights), op.attributes["bias"])
    return op.add("mul", op.x(), op.add("pow", total, op.constant([-op.attributes["beta"]])))
