"""Conv, ConvTranspose."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import Results, is_known
from trimtab.importers.onnx_ops import volume
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary.convolution import (
    convolve,
    convolve_computed,
    deconvolve,
    deconvolve_computed,
)
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


def _is_computed(node: OnnxNode) -> bool:
    """Whether weights or bias are computed."""
    return any(
        node.has(i) and node.stored(i) is None and not is_known(node.operand(i)) for i in (1, 2)
    )


def _computed(node: OnnxNode) -> Results:
    """A convolution whose weights or bias are computed."""
    shape, spatial, group = node.shape(1), len(node.shape()) - 2, node.integer("group", 1)
    if spatial not in (1, 2, 3) or len(shape) != spatial + 2:
        raise node.unsupported(f"it is {len(shape) - 2}-dimensional, and its weights are computed")
    if spatial == 3:
        return _volume(node, node.x(1), None)
    x = to_image(node, node.x(), spatial)
    weight = to_image(node, node.x(1), spatial)
    kernel = weight.shape[2:]
    if node.type == "Conv":
        window = windows.window_of(node, kernel, x.shape[2:])
        y = convolve_computed(node, x, weight, window, group)
    else:
        window, extra = windows.transposed(node, kernel, x.shape[2:])
        y = deconvolve_computed(node, x, weight, window, group, extra)
    return from_image(node, _shifted(node, y), spatial, node.x())


def _shifted(node: OnnxNode, y: Value) -> Value:
    """`y` with the bias of its channels, if there is one."""
    if not node.has(2):
        return y
    return node.add("add", y, node.reshape(node.x(2), (1, -1, *[1] * (len(y.shape) - 2))))


def _volume(node: OnnxNode, weight: Operand, bias: Array | None) -> Value:
    """A convolution of a volume; a computed `weight` is without bias."""
    convolved = (volume.conv if node.type == "Conv" else volume.conv_transpose)(node, weight, bias)
    return _shifted(node, convolved) if isinstance(weight, Value) else convolved


@handles("Conv", "ConvTranspose")
def conv(node: OnnxNode) -> Results:
    """x: [n, c, (d,) (h,) w], w: [m, c / group, (kd,) (kh,) kw], or [c, m / group, ...] of a
    transposed one, b: [m]; weights and biases may be computed.
    """
    if _is_computed(node):
        return _computed(node)
    weight, bias = _weights(node)
    if weight.ndim == 5:
        return _volume(node, weight, bias)
    spatial, group = len(node.shape()) - 2, node.integer("group", 1)
    x = to_image(node, node.x(), spatial)
    kernel, size = weight.shape[2:], x.shape[2:]
    if node.type == "ConvTranspose":
        window, extra = windows.transposed(node, kernel, size)
        y = deconvolve(node, x, weight, bias, window, group, extra)
    else:  # also the FusedConv of onnxruntime
        stored = _as_stored(node, 1, weight), None if bias is None else _as_stored(node, 2, bias)
        y = convolve(node, x, *stored, windows.window_of(node, kernel, size), group)
    return from_image(node, y, spatial, node.x())


def _as_stored(node: OnnxNode, i: int, data: Array) -> Operand:
    """The stored form of constant input `i` if it has the shape of `data`, otherwise `data`."""
    stored = node.stored(i)
    return (
        stored.dequantized(node, f"input{i}")
        if stored and stored.data.shape == data.shape
        else data
    )
