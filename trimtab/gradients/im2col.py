"""Windows as rows of a matrix."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    names = ("kernel_shape", "strides", "pads", "dilations", "group")
    same = {name: op.attributes[name] for name in names}
    return op.add("col2im", op.dy, image_shape=op.shape(op.x())[2:], **same)
