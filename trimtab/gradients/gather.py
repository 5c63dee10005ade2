"""Elements at indices: a product with a matrix of zeros and ones adds up their gradients."""

from __future__ import annotations

import math

import numpy as np

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    indices, shape, axis = op.x(1), op.shape(op.x()), op.attributes["axis"]
    count, size = math.prod(op.shape(indices)), shape[axis]
    dtype = {"i32": "int32", "i64": "int64"}[op.block.vars[indices].dtype]
    row = op.reshape(indices, 1, count)
    is_here = []
    for first in (0, -size):  # negative indices count from the end
        place = op.constant(np.arange(first, first + size).reshape(size, 1), dtype)
        is_here.append(op.add("compare", row, place, relation="equal"))
    matrix = op.add("add", *(op.add("cast", here, to="f32") for here in is_here))
    return op.along(matrix, op.dy, axis, shape)
