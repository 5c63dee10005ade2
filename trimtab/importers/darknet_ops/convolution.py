"""Layers with weights: convolutional, deconvolutional, connected, batchnorm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trimtab.importers._layers import Array, Value
from trimtab.importers.darknet_ops.activation import activate
from trimtab.importers.darknet_ops.layer import Layer, handles

# OpenCV's; both Darknets add other small numbers at other places.
_EPSILON = 1e-6


def _statistics(layer: Layer, channels: int) -> list[Array]:
    """Scale, mean and variance, as they follow each other in the file."""
    return [layer.weights((channels,), role) for role in ("scales", "means", "variances")]


def _normalize(layer: Layer, x: Value, bias: Array, statistics: list[Array]) -> Value:
    scale, mean, variance = statistics
    constants = {"scale": scale, "bias": bias, "mean": mean, "variance": variance}
    operands = [layer.constant(value, role) for role, value in constants.items()]
    return layer.add("batch_normalization", x, *operands, epsilon=_EPSILON)


def _apply(
    layer: Layer,
    op: str,
    x: Value,
    weight: Array,
    bias: Array,
    statistics: list[Array],
    **attributes: Any,
) -> Value:
    """A product with weights, normalised when there are statistics, else with a bias."""
    operands = [layer.constant(weight, "weight")]
    if not statistics:
        operands.append(layer.constant(bias, "bias"))
    y = layer.add(op, x, *operands, **attributes)
    return _normalize(layer, y, bias, statistics) if statistics else y


def _strides(layer: Layer) -> tuple[int, int]:
    stride = layer.positive("stride", 1)
    return layer.positive("stride_y", stride), layer.positive("stride_x", stride)


@handles("convolutional", "conv")
def convolutional(layer: Layer) -> Value:
    """`pad` asks for half of the window, `padding` for a number of pixels."""
    layer.refuse("binary", "xnor", "antialiasing", "share_index", "sway", "rotate", "stretch")
    filters, size = layer.positive("filters", 1), layer.positive("size", 1)
    group = layer.positive("groups", 1)
    channels = layer.x.shape[1]
    if channels % group or filters % group:
        raise layer.invalid(f"{group} groups do not divide {channels} inputs, {filters} outputs")
    dilation = layer.positive("dilation", 1) if size > 1 else 1
    padding = size // 2 if layer.options.integer("pad", 0) else layer.options.integer("padding", 0)
    bias = layer.weights((filters,), "biases")
    normalized = layer.options.integer("batch_normalize", 0)
    statistics = _statistics(layer, filters) if normalized else []
    y = _apply(
        layer,
        "conv",
        layer.x,
        layer.weights((filters, channels // group, size, size), "weights"),
        bias,
        statistics,
        strides=_strides(layer),
        pads=(padding * dilation,) * 4,
        dilations=(dilation, dilation),
        group=group,
    )
    return activate(layer, y, "logistic")


@handles("deconvolutional", "deconv")
def deconvolutional(layer: Layer) -> Value:
    """The transposed convolution; weights are [inputs, outputs, size, size]."""
    filters, size = layer.positive("filters", 1), layer.positive("size", 1)
    padding = size // 2 if layer.options.integer("pad", 0) else layer.options.integer("padding", 0)
    bias = layer.weights((filters,), "biases")
    normalized = layer.options.integer("batch_normalize", 0)
    statistics = _statistics(layer, filters) if normalized else []
    y = _apply(
        layer,
        "conv_transpose",
        layer.x,
        layer.weights((layer.x.shape[1], filters, size, size), "weights"),
        bias,
        statistics,
        strides=(layer.positive("stride", 1),) * 2,
        pads=(padding,) * 4,
    )
    return activate(layer, y, "logistic")


@handles("connected", "conn")
def connected(layer: Layer) -> Value:
    """All of an image is one vector; the result is one pixel of `output` channels."""
    outputs = layer.positive("output", 1)
    n, inputs = layer.x.shape[0], math.prod(layer.x.shape[1:])
    bias = layer.weights((outputs,), "biases")
    if layer.transposed_weights:
        weight = np.ascontiguousarray(layer.weights((inputs, outputs), "weights").T)
    else:
        weight = layer.weights((outputs, inputs), "weights")
    normalized = layer.options.integer("batch_normalize", 0)
    statistics = _statistics(layer, outputs) if normalized else []
    x = layer.reshape(layer.x, (n, inputs))
    y = _apply(layer, "gemm", x, weight, bias, statistics)
    return activate(layer, layer.reshape(y, (n, outputs, 1, 1)), "logistic")


@handles("batchnorm")
def batchnorm(layer: Layer) -> Value:
    """A normalisation as a layer of its own."""
    channels = layer.x.shape[1]
    bias = layer.weights((channels,), "biases")
    return _normalize(layer, layer.x, bias, _statistics(layer, channels))
