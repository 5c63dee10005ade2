"""Depthwise convolution with computed weights."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the image (0) or of the weights (1)."""
    op.attribute("computes", "result")
    if index == 1:
        values = {**op.attributes, "computes": "weights"}
        return op.add("computed_depthwise", op.x(0), op.dy, **values)
    values = {**op.attributes, "computes": "image", "image_shape": op.shape(op.x())[2:]}
    return op.add("computed_depthwise", op.dy, op.x(1), **values)
