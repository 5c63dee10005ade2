"""Layers with weights: convolutional, deconvolutional, connected, batchnorm."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.darknet_ops.activation import activate
from trimtab.importers.darknet_ops.layer import DarknetLayer, handles
from trimtab.importers.vocabulary.activation import above
from trimtab.importers.vocabulary.convolution import check_groups, convolve, deconvolve
from trimtab.importers.vocabulary.matrix import linear
from trimtab.importers.vocabulary.normalization import batch_norm
from trimtab.importers.vocabulary.window import Window

# OpenCV's value; the two Darknets add other constants at other places.
_EPSILON = 1e-6


def _biases(layer: DarknetLayer, outputs: int) -> list[Array]:
    """The bias and, if the layer is normalized, scale, mean and variance, in the file's order."""
    normalized = layer.type == "batchnorm" or layer.options.integer("batch_normalize", 0)
    roles = ("biases", *(("scales", "means", "variances") if normalized else ()))
    return [layer.weights((outputs,), role) for role in roles]


def _normalized(layer: DarknetLayer, y: Value, biases: list[Array]) -> Value:
    """Normalizes `y` if there are statistics; a bias alone is an operand of the convolution."""
    if len(biases) == 1:
        return y
    bias, scale, mean, variance = biases
    return batch_norm(layer, y, scale, bias, mean, variance, _EPSILON)


def _bias(biases: list[Array]) -> Array | None:
    return biases[0] if len(biases) == 1 else None


def _padding(layer: DarknetLayer, size: int) -> int:
    if layer.options.integer("pad", 0):
        return size // 2
    return layer.options.integer("padding", 0)


def _strides(layer: DarknetLayer) -> tuple[int, int]:
    stride = layer.positive("stride", 1)
    return layer.positive("stride_y", stride), layer.positive("stride_x", stride)


@handles("convolutional", "conv")
def convolutional(layer: DarknetLayer) -> Value:
    """Convolution; `pad` is half of the window, `padding` a number of pixels. With `binary` and
    `xnor`, weights are their signs times their mean size per filter; with `xnor`, the input is its
    signs.
    """
    layer.reject("antialiasing", "share_index", "sway", "rotate", "stretch")
    filters, size = layer.positive("filters", 1), layer.positive("size", 1)
    group = layer.positive("groups", 1)
    channels = layer.image().shape[1]
    check_groups(layer, group, channels, filters)
    dilation = layer.positive("dilation", 1) if size > 1 else 1
    biases = _biases(layer, filters)
    weight = layer.weights((filters, channels // group, size, size), "weights")
    pads = (_padding(layer, size) * dilation,) * 4
    window = Window((size, size), _strides(layer), pads, (dilation, dilation))
    x, signs = layer.image(), layer.options.integer("xnor", 0)
    if signs or layer.options.integer("binary", 0):
        sizes = abs(weight).mean((1, 2, 3), keepdims=True)
        weight = np.where(weight > 0, sizes, -sizes)
    if signs:
        x = layer.scale_and_shift(above(layer, x, 0.0), 2.0, -1.0)
    y = convolve(layer, x, weight, _bias(biases), window, group)
    return activate(layer, _normalized(layer, y, biases), "logistic")


@handles("deconvolutional", "deconv")
def deconvolutional(layer: DarknetLayer) -> Value:
    """Transposed convolution with weights [inputs, outputs, size, size]."""
    filters, size = layer.positive("filters", 1), layer.positive("size", 1)
    biases = _biases(layer, filters)
    weight = layer.weights((layer.image().shape[1], filters, size, size), "weights")
    stride = layer.positive("stride", 1)
    window = Window((size, size), (stride, stride), (_padding(layer, size),) * 4)
    y = deconvolve(layer, layer.image(), weight, _bias(biases), window, 1)
    return activate(layer, _normalized(layer, y, biases), "logistic")


@handles("connected", "conn")
def connected(layer: DarknetLayer) -> Value:
    """Fully connected layer over the whole image; the result is one pixel."""
    outputs = layer.positive("output", 1)
    n, inputs = layer.image().shape[0], math.prod(layer.image().shape[1:])
    biases = _biases(layer, outputs)
    if layer.transposed_weights:
        weight = layer.weights((inputs, outputs), "weights").T
    else:
        weight = layer.weights((outputs, inputs), "weights")
    x = layer.reshape(layer.image(), (n, inputs))
    y = _normalized(layer, linear(layer, x, weight, _bias(biases)), biases)
    return activate(layer, layer.reshape(y, (n, outputs, 1, 1)), "logistic")


@handles("batchnorm")
def batchnorm(layer: DarknetLayer) -> Value:
    """Batch normalization as a separate layer."""
    return _normalized(layer, layer.image(), _biases(layer, layer.image().shape[1]))
