"""Batch normalization with fixed statistics; scale and bias can be trained."""

from __future__ import annotations

import numpy as np

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    factor = op.value(1) / np.sqrt(op.value(4) + op.attributes["epsilon"])
    return op.add("mul", op.dy, op.constant(factor.reshape(_per_channel(op))))


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of other operators."""
    shape = _per_channel(op)
    factor = 1 / np.sqrt(op.value(4).reshape(shape) + op.attributes["epsilon"])
    centered = op.add("sub", op.x(), op.constant(op.value(3).reshape(shape)))
    normalized = op.add("mul", centered, op.constant(factor))
    scale, bias = (op.reshape(op.x(i), *shape) for i in (1, 2))
    return op.add("add", op.add("mul", normalized, scale), bias)


def _per_channel(op: DifferentiatedOp) -> tuple[int, ...]:
    _, channels, *image = op.shape(op.x())
    return channels, *(1 for _ in image)
