"""Conv, ConvTranspose."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Array, Operand
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import volume
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary.convolution import convolve, deconvolve
from trimtab.importers.vocabulary.quantization import real
from trimtab.importers.vocabulary.window import image, restore


def _weights(node: OnnxNode) -> tuple[Array, Array | None]:
    """Constant weights [m, c, (kd,) kh, kw] (a 1-D kernel gets a height of 1) and bias [m]."""
    weight = node.known(1, "weights")
    if weight.ndim not in (3, 4, 5) or weight.ndim != len(node.x(0).shape):
        raise node.unsupported(f"it is {weight.ndim - 2}-dimensional")
    declared = node.integers("kernel_shape", weight.shape[2:])
    if declared != weight.shape[2:]:
        raise node.invalid(
            f"kernel_shape {declared} is not the shape of the weights {weight.shape}"
        )
    if weight.ndim == 3:
        weight = weight[:, :, np.newaxis]
    return weight, node.known(2, "bias") if node.has(2) else None


@handles("Conv")
def conv(node: OnnxNode) -> Results:
    """x: [n, c, (d,) (h,) w], w: [m, c / group, (kd,) (kh,) kw], b: [m], weights constant."""
    weight, bias = _weights(node)
    if weight.ndim == 5:
        return volume.conv(node, weight, bias)
    spatial = len(node.shape()) - 2
    x = image(node, node.x(), spatial)
    window = windows.of(node, weight.shape[2:], x.shape[2:])
    operands = _as_stored(node, 1, weight), None if bias is None else _as_stored(node, 2, bias)
    y = convolve(node, x, *operands, window, node.integer("group", 1))
    return restore(node, y, spatial, node.x())


def _as_stored(node: OnnxNode, i: int, data: Array) -> Operand:
    """The constant of input `i` as the file stores it, where that has the shape of `data`."""
    stored = node.stored(i)
    return real(node, stored, f"input{i}") if stored and stored.data.shape == data.shape else data


@handles("ConvTranspose")
def conv_transpose(node: OnnxNode) -> Results:
    """x: [n, c, (h,) w], w: [c, m / group, (kh,) kw], b: [m], weights constant."""
    weight, bias = _weights(node)
    if weight.ndim == 5:
        raise node.unsupported("it is 3-dimensional")
    spatial = len(node.shape()) - 2
    x = image(node, node.x(), spatial)
    window, extra = windows.transposed(node, weight.shape[2:], x.shape[2:])
    y = deconvolve(node, x, weight, bias, window, node.integer("group", 1), extra)
    return restore(node, y, spatial, node.x())
