"""Windows added up to an image."""

from __future__ import annotations

from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    names = ("kernel_shape", "strides", "pads", "dilations", "group")
    return op.add("im2col", op.dy, **{name: op.attributes[name] for name in names})
