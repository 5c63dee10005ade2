"""Sum along dimensions."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    shape = op.shape(op.x())
    reduced = {axis % len(shape) for axis in op.attributes["axes"]}
    sizes = (1 if axis in reduced else size for axis, size in enumerate(shape))
    return op.add("expand", op.reshape(op.dy, *sizes), shape=shape)
