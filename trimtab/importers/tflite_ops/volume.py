"""Convolution and transposed convolution of volumes [n, d, h, w, c]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.tflite_ops.convolution import SAME
from trimtab.importers.tflite_ops.forms import Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary.volume import VolumeWindow, convolve_volume, deconvolve_volume
from trimtab.importers.vocabulary.window import same_pads

_CHANNELS_FIRST, _CHANNELS_LAST = (0, 4, 1, 2, 3), (0, 2, 3, 4, 1)


@handles("CONV_3D")
def convolution(node: TfliteNode) -> Results:
    """Convolution with weights [kd, kh, kw, c, m]."""
    x = _volume(node, 0)
    weight = _weights(node, (4, 3, 0, 1, 2))
    if weight.shape[1] != x.shape[1]:
        raise node.invalid(f"weights of {weight.shape[1]} channels do not fit {x.shape[1]}")
    window = _window(node, x.shape[2:], weight.shape[2:])
    y = convolve_volume(node, x, weight, node.bias(2, weight.shape[0]), window)
    return _result(node, y)


@handles("CONV_3D_TRANSPOSE")
def transposed_convolution(node: TfliteNode) -> Results:
    """Transposed convolution of input 2 with weights [kd, kh, kw, m, c]; input 0 is the output
    size.
    """
    x, size = _volume(node, 2), node.ints(0, "output size")
    weight = _weights(node, (4, 3, 0, 1, 2))
    if weight.shape[0] != x.shape[1]:
        raise node.invalid(f"weights of {weight.shape[0]} channels do not fit {x.shape[1]}")
    if len(size) != 5:
        raise node.invalid(f"its output size is {list(size)}")
    window = _window(node, size[1:4], weight.shape[2:])
    # Elements beyond the output size are cropped, missing ones are padded.
    ends = [
        (n - 1) * s + (k - 1) * d + 1 - begin - out
        for n, s, k, d, begin, out in zip(
            x.shape[2:],
            window.strides,
            window.kernel,
            window.dilations,
            window.pads,
            size[1:4],
            strict=False,  # pads have the ends, too
        )
    ]
    pads = (*window.pads[:3], *(max(0, end) for end in ends))
    window = VolumeWindow(window.kernel, window.strides, pads, window.dilations)
    extra = [max(0, -end) for end in ends]
    bias = node.bias(3, weight.shape[1], x=2)
    return _result(node, deconvolve_volume(node, x, weight, bias, window, extra=extra))


def _volume(node: TfliteNode, place: int) -> Value:
    """An input [n, d, h, w, c] as [n, c, d, h, w]."""
    x = node.x(place)
    if len(x.shape) != 5:
        raise node.invalid(f"its input has {len(x.shape)} dimensions, not 5")
    return node.transpose(x, _CHANNELS_FIRST)


def _weights(node: TfliteNode, order: Sequence[int]) -> Array:
    """The weights, which must be constant floats, transposed by `order`."""
    weight = node.parameter(1, "weights", (-1,) * 5)
    return np.ascontiguousarray(weight.transpose(order))


def _window(node: TfliteNode, size: Sequence[int], kernel: Sequence[int]) -> VolumeWindow:
    """The window of an operator; SAME padding has an odd element at the end."""
    options: Any = node.options("Conv3DOptions")
    strides = options.StrideD(), options.StrideH(), options.StrideW()
    dilations = (
        options.DilationDFactor(),
        options.DilationHFactor(),
        options.DilationWFactor(),
    )
    window = VolumeWindow(kernel, strides, dilations=dilations)
    window.check(node)
    if options.Padding() != SAME:
        return window
    return VolumeWindow(kernel, strides, same_pads(size, kernel, strides, dilations), dilations)


def _result(node: TfliteNode, y: Value) -> Value:
    """The result [n, d, h, w, m] of y: [n, m, d, h, w], with its activation."""
    activation = node.options("Conv3DOptions").FusedActivationFunction()
    return node.transpose(node.activated(y, activation), _CHANNELS_LAST)
