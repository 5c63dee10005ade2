"""Maximum over a window: the first of equal maxima takes the gradient."""

from __future__ import annotations

import math

import numpy as np

from trimtab.gradients import _windows
from trimtab.gradients._differentiated import DifferentiatedOp


def gradient(op: DifferentiatedOp, index: int) -> str:
    """The gradient of the input."""
    x, values = op.x(), op.attributes
    kernel, strides = values["kernel_shape"], values["strides"]
    op.attribute("pad_value", -math.inf)
    if values["dilations"] == (1, 1) and all(s >= k for s, k in zip(strides, kernel, strict=True)):
        names = ("kernel_shape", "strides", "pads", "ceil_mode")  # no pixel is in two windows
        return op.add("max_unpool", op.dy, x, **{name: values[name] for name in names})
    window = _windows.exact(op, kernel, x, op.y)
    channels, taps = op.shape(x)[1], math.prod(kernel)
    columns = op.add("im2col", x, pad_value=-math.inf, **window)
    pixels = op.shape(columns)[1]
    columns = op.reshape(columns, pixels, taps, channels)
    first = op.add("arg_max", columns, axis=1)
    tap = op.constant(np.arange(taps).reshape(taps, 1), "int64")
    is_first = op.add("compare", first, tap, relation="equal")
    dy = op.reshape(_windows.rows(op, op.dy), pixels, 1, channels)
    spread = op.add("where", is_first, dy, op.constant([0.0]))
    spread = op.reshape(spread, 1, pixels, taps * channels)
    return op.add("col2im", spread, image_shape=op.shape(x)[2:], **window)
