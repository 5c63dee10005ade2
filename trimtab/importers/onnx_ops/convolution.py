"""Conv, ConvTranspose."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Array, Operand
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import volume
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary.convolution import convolve, deconvolve
from trimtab.importers.vocabulary.window import from_image, to_image


def _weights(node: OnnxNode) -> tuple[Array, Array | None]:
    """Constant weights [m, c, (kd,) kh, kw] and bias [m]; a 1-D kernel gets a height of 1."""
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
    """x: [n, c, (d,) (h,) w], constant w: [m, c / group, (kd,) (kh,) kw], b: [m]."""
    weight, bias = _weights(node)
    if weight.ndim == 5:
        return volume.conv(node, weight, bias)
    spatial = len(node.shape()) - 2
    x = to_image(node, node.x(), spatial)
    window = windows.window_of(node, weight.shape[2:], x.shape[2:])
    operands = _as_stored(node, 1, weight), None if bias is None else _as_stored(node, 2, bias)
    y = convolve(node, x, *operands, window, node.integer("group", 1))
    return from_image(node, y, spatial, node.x())


def _as_stored(node: OnnxNode, i: int, data: Array) -> Operand:
    """The stored form of constant input `i` if it has the shape of `data`, otherwise `data`."""
    stored = node.stored(i)
    return (
        stored.dequantized(node, f"input{i}")
        if stored and stored.data.shape == data.shape
        else data
    )


@handles("ConvTranspose")
def conv_transpose(node: OnnxNode) -> Results:
    """x: [n, c, (h,) w], constant w: [c, m / group, (kh,) kw], b: [m]."""
    weight, bias = _weights(node)
    if weight.ndim == 5:
        raise node.unsupported("it is 3-dimensional")
    spatial = len(node.shape()) - 2
    x = to_image(node, node.x(), spatial)
    window, extra = windows.transposed(node, weight.shape[2:], x.shape[2:])
    y = deconvolve(node, x, weight, bias, window, node.integer("group", 1), extra)
    return from_image(node, y, spatial, node.x())
