"""Transposed convolution: with parameters as weights it adds up the rows of a GEMM (col2im)."""

from __future__ import annotations

from trimtab.gradients import _windows
from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input, where weights and bias are constants."""
    same = {name: op.attributes[name] for name in ("strides", "pads", "dilations", "group")}
    return op.add("conv", op.dy, op.x(1), **same)


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of operators whose weights may be computed."""
    x, w, group = op.x(0), op.x(1), op.attributes["group"]
    _, channels, *kernel = op.shape(w)
    window = _windows.exact(op, tuple(kernel), op.y, x)
    columns = op.add("mat_mul", _windows.rows(op, x, group), _windows.weights(op, w, group))
    y = op.add("col2im", columns, image_shape=op.shape(op.y)[2:], group=group, **window)
    if op.has(2):
        y = op.add("add", y, op.reshape(op.x(2), group * channels, 1, 1))
    return y
