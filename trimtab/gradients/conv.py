"""Convolution: with parameters as weights it is a GEMM of windows (im2col), or depthwise."""

from __future__ import annotations

import math

from trimtab.gradients import _windows
from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input, where weights and bias are constants."""
    values = op.attributes
    kernel = op.shape(op.x(1))[2:]
    rest = []  # pixels behind the last window
    for axis in (0, 1):
        room = op.shape(op.x())[2 + axis] - (kernel[axis] - 1) * values["dilations"][axis] - 1
        room += values["pads"][axis] + values["pads"][2 + axis]
        rest.append(room % values["strides"][axis])
    same = {name: values[name] for name in ("strides", "pads", "dilations", "group")}
    return op.add("conv_transpose", op.dy, op.x(1), output_padding=rest, **same)


def lowered(op: DifferentiatedOp) -> str:
    """The result in terms of operators whose weights may be computed."""
    x, w, values = op.x(0), op.x(1), op.attributes
    channels, _, *kernel = op.shape(w)
    if op.block.vars[w].data is not None:
        names = ("strides", "pads", "dilations", "group")
        y = op.add("conv", x, w, **{name: values[name] for name in names})
        return op.add("add", y, op.reshape(op.x(2), channels, 1, 1))
    group = values["group"]
    n, _, height, width = op.shape(op.y)
    window = _windows.exact(op, tuple(kernel), x, op.y)
    if group == channels == op.shape(x)[1]:
        by_tap = op.add("transpose", w, permutation=(2, 3, 1, 0))
        taps = op.reshape(by_tap, math.prod(kernel), channels)
        y = op.add("computed_depthwise", x, taps, computes="result", **window)
        return op.add("add", y, op.reshape(op.x(2), channels, 1, 1)) if op.has(2) else y
    is_pointwise = (*kernel, *window["strides"], *window["pads"]) == (1, 1, 1, 1, 0, 0, 0, 0)
    columns = (
        _windows.rows(op, x, group) if is_pointwise else op.add("im2col", x, group=group, **window)
    )
    y = op.add("mat_mul", columns, _windows.weights(op, w, group), transpose_b=True)
    if op.has(2):
        y = op.add("add", y, op.reshape(op.x(2), group, 1, channels // group))
    return _windows.image(op, y, n, height, width)
