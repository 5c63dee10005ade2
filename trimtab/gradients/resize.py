"""Resampling: each axis is a matrix, which the operator itself computes from unit vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import schema
from trimtab.engine import engine
from trimtab.gradients._differentiated import DifferentiatedOp
from trimtab.program import attributes


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    if op.attributes["coordinate_mode"] == "tf_crop_and_resize":
        raise op.refused("coordinate_mode = tf_crop_and_resize")
    rows, columns = (op.constant(_matrix(op, axis)) for axis in (0, 1))
    dy = op.add("mat_mul", op.dy, columns)
    return op.add("mat_mul", op.swap_last(rows), dy)


def _matrix(op: DifferentiatedOp, axis: int) -> NDArray[Any]:
    """The weights [size of y, size of x] of an axis: 0 is the height, 1 the width."""
    size, result = op.shape(op.x())[2 + axis], op.shape(op.y)[2 + axis]
    sizes, image, scales = [1, 1], [1, 1], [1.0, 1.0]
    sizes[axis], image[axis] = result, size
    if op.attributes["scales"]:
        scales[axis] = op.attributes["scales"][axis]
    values = {**op.attributes, "sizes": sizes, "scales": scales if op.attributes["scales"] else ()}
    block = attributes.encode(op.schema, attributes.complete(op.schema, values))
    units = np.eye(size, dtype=np.float32).reshape(size, 1, *image)
    (y,) = engine().run_operator(op.schema.id, [(units, schema.DTYPES["f32"])], block, 1)
    return np.asarray(y).reshape(size, result).T
