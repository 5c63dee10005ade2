"""Mean over a window."""

from __future__ import annotations

import math

import numpy as np

from trimtab.gradients import _windows
from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    kernel, image = op.attributes["kernel_shape"], op.shape(op.x())[2:]
    window = _windows.exact(op, kernel, op.x(), op.y)
    mean = op.add("div", op.dy, op.constant(np.multiply.outer(*_counts(op))))
    rows = op.add("tile", _windows.rows(op, mean), repeats=(1, 1, math.prod(kernel)))
    return op.add("col2im", rows, image_shape=image, **window)


def _counts(op: DifferentiatedOp) -> list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """The number of pixels that a window averages, by output row and by output column."""
    values, counts = op.attributes, []
    for axis in (0, 1):
        stride, dilation, pad = (values[n][axis] for n in ("strides", "dilations", "pads"))
        size = op.shape(op.x())[2 + axis]
        begin, end = 0, size
        if values["count_include_pad"]:
            begin, end = -pad, size + values["pads"][2 + axis]
        first = np.arange(op.shape(op.y)[2 + axis]) * stride - pad
        taps = first[:, None] + np.arange(values["kernel_shape"][axis]) * dilation
        counts.append(np.sum((taps >= begin) & (taps < end), axis=1))
    return counts
