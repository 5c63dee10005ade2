"""Scatter of slices: an update has the gradient at its indices, what it replaces has none."""

from __future__ import annotations

import numpy as np

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of x or of the updates."""
    reduction = op.attribute("reduction", "none", "add")
    op.attribute("by_element", False)
    if reduction == "none":
        rows = op.value(1).reshape(-1, op.shape(op.x(1))[-1])
        if len(np.unique(rows, axis=0)) < len(rows):
            raise op.refused("an update that a later one replaces")
    if index == 2:
        return op.add("gather_nd", op.dy, op.x(1))
    if reduction == "add":
        return op.dy
    return op.add("scatter_nd", op.dy, op.x(1), op.zeros(op.shape(op.x(2))))
