"""Fully connected layer."""

from __future__ import annotations

import math

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of operand `index`."""
    return op.add("gemm", op.dy, op.constant(op.value(1).T))


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of other operators."""
    *rows, depth = op.shape(op.x())
    columns = op.shape(op.x(1))[0]
    count, w = math.prod(rows), op.x(1)
    x = op.reshape(op.x(), count, depth)
    if count < columns:  # a GEMM copies its right operand: let that be the smaller one
        y = op.swap_last(op.add("mat_mul", w, x, transpose_b=True))
    else:
        y = op.add("mat_mul", x, w, transpose_b=True)
    if op.has(2):
        y = op.add("add", y, op.x(2))
    return op.reshape(y, *rows, columns)
