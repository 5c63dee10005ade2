"""Padding."""

from __future__ import annotations

import numpy as np

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    shape, pads = op.shape(op.x()), op.attributes["pads"]
    rank = len(shape)
    begins, ends = pads[:rank], pads[rank:]
    if op.attributes["mode"] == "constant":
        back = [-pad for pad in pads]  # a negative padding crops: zeros take its place
        return op.add("pad", op.dy, pads=back)
    dy = op.dy
    for axis, size in enumerate(shape):
        if begins[axis] or ends[axis]:
            dy = _folded(op, dy, axis, size, (begins[axis], ends[axis]))
    return dy


def _folded(op: DifferentiatedOp, dy: str, axis: int, size: int, pads: tuple[int, int]) -> str:
    """Adds the gradients of copies to those of the elements that they copy, along an axis."""
    if min(pads) < 0:
        raise op.refused("a negative padding with copies")
    source = np.pad(np.arange(size), pads, op.attributes["mode"])
    matrix = np.arange(size)[:, None] == source
    shape = op.shape(dy)
    return op.along(op.constant(matrix), dy, axis, (*shape[:axis], size, *shape[axis + 1 :]))
