"""Convolution, transposed convolution and pooling."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trimtab.importers._graph import Operand, Value
from trimtab.importers.tflite_ops.forms import Blocks, NchwImage, Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary.activation import square
from trimtab.importers.vocabulary.convolution import convolve, deconvolve
from trimtab.importers.vocabulary.pooling import Kind
from trimtab.importers.vocabulary.pooling import pool as windowed_pool
from trimtab.importers.vocabulary.window import Pair, Window

SAME, _VALID = 0, 1
_TRANSPOSED = struct.Struct("<iii")  # padding (1: SAME, 2: VALID), horizontal and vertical stride


def _window(
    node: TfliteNode, options: Any, size: Sequence[int], kernel: Pair, dilations: Pair = (1, 1)
) -> Window:
    """The window of an operator; SAME padding has an odd pixel at the end."""
    window = Window(kernel, (options.StrideH(), options.StrideW()), dilations=dilations)
    window.check(node)
    return window.same(size) if options.Padding() == SAME else window


@handles("CONV_2D")
def convolution(node: TfliteNode) -> Results:
    """Convolution with weights [m, kh, kw, c / groups]."""
    x = _image(node)
    weight = node.weights(1, (-1, -1, -1, -1), (0, 3, 1, 2))
    channels = weight.shape[1]
    if not channels or x.shape[1] % channels:
        raise node.invalid(f"weights of {channels} channels do not fit {x.shape[1]}")
    return _convolved(node, node.options("Conv2DOptions"), weight, x.shape[1] // channels)


@handles("DEPTHWISE_CONV_2D")
def depthwise_convolution(node: TfliteNode) -> Results:
    """Depthwise convolution with weights [1, kh, kw, c * multiplier]."""
    x = _image(node)
    weight = node.weights(1, (1, -1, -1, -1), (3, 0, 1, 2))
    if weight.shape[0] % x.shape[1]:
        raise node.invalid(f"weights of {weight.shape[0]} channels do not fit {x.shape[1]}")
    return _convolved(node, node.options("DepthwiseConv2DOptions"), weight, x.shape[1])


def _image(node: TfliteNode) -> Value:
    """The input image, or the image of the input's blocks."""
    blocks = node.blocks()
    return blocks.value if blocks else node.image()


def _convolved(node: TfliteNode, options: Any, weight: Operand, group: int) -> Results:
    kernel, bias = (weight.shape[2], weight.shape[3]), node.bias(2, weight.shape[0])
    blocks, dilations = node.blocks(), (options.DilationHFactor(), options.DilationWFactor())
    if blocks and options.Padding() == _VALID:
        window = _window(node, options, (), kernel, dilations)
        if window == Window(kernel):
            window = Window(kernel, pads=blocks.pads, dilations=blocks.block)
            y = convolve(node, blocks.value, weight, bias, window, group)
            y = node.activated(y, options.FusedActivationFunction())
            return Blocks(y, blocks.block, (0, 0, 0, 0))
    x = node.image()
    window = _window(node, options, x.shape[2:], kernel, dilations)
    y = convolve(node, x, weight, bias, window, group)
    return NchwImage(node.activated(y, options.FusedActivationFunction()))


@handles("TRANSPOSE_CONV")
def transposed_convolution(node: TfliteNode) -> Results:
    """Transposed convolution of input 2 with weights [m, kh, kw, c]; input 0 is the output size."""
    options = node.options("TransposeConvOptions")
    y = _deconvolved(node, options, 2, 3, node.ints(0, "output size"))
    return NchwImage(node.activated(y, options.FusedActivationFunction()))


@dataclass(frozen=True)
class _CustomWindow:
    """The options of a custom operator: the struct TfLiteTransposeConvParams of TFLite."""

    node: TfliteNode

    def _numbers(self) -> tuple[int, ...]:
        data = self.node.custom_options()
        if len(data) < _TRANSPOSED.size:
            raise self.node.invalid("its options are shorter than padding and strides")
        return _TRANSPOSED.unpack_from(data)

    def Padding(self) -> int:  # noqa: N802, as in TFLite's schema
        """SAME or VALID, with the numbers of TFLite's schema."""
        return self._numbers()[0] - 1

    def StrideW(self) -> int:  # noqa: N802
        """Pixels of the result per pixel, horizontally."""
        return self._numbers()[1]

    def StrideH(self) -> int:  # noqa: N802
        """Pixels of the result per pixel, vertically."""
        return self._numbers()[2]


@handles("custom Convolution2DTransposeBias")
def media_pipe_transposed_convolution(node: TfliteNode) -> Results:
    """Transposed convolution of input 0 with weights [m, kh, kw, c] and a bias (MediaPipe)."""
    options = _CustomWindow(node)
    n, h, w, _ = node.shape(0)
    outputs, kernel_h, kernel_w, _ = node.shape(1)
    size = [h * options.StrideH(), w * options.StrideW()]
    if options.Padding() == _VALID:
        more = kernel_h - options.StrideH(), kernel_w - options.StrideW()
        size = [s + max(0, m) for s, m in zip(size, more, strict=True)]
    return NchwImage(_deconvolved(node, options, 0, 2, (n, *size, outputs)))


def _deconvolved(
    node: TfliteNode, options: Any, image: int, bias: int, size: Sequence[int]
) -> Value:
    """Transposed convolution of the input `image` to a `size` of [n, h, w, m]."""
    x = node.image(image)
    weight = node.weights(1, (-1, -1, -1, x.shape[1]), (3, 0, 1, 2))
    _, outputs, kernel_h, kernel_w = weight.shape
    if len(size) != 4:
        raise node.invalid(f"its output size is {list(size)}")
    window = _window(node, options, size[1:3], (kernel_h, kernel_w))
    # Pixels beyond the output size are cropped, missing ones are padded.
    begin = window.pads[:2]
    ends = [
        r - b - n for r, b, n in zip(window.full_size(x.shape[2:]), begin, size[1:3], strict=True)
    ]
    window = window.padded((*begin, *(max(0, end) for end in ends)))
    extra = max(0, -ends[0]), max(0, -ends[1])
    return deconvolve(node, x, weight, node.bias(bias, outputs, x=image), window, 1, extra)


@handles("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D")
def pool(node: TfliteNode) -> Results:
    """Max or average pooling, or the root of the mean of squares; a mean does not count padding."""
    options, x = node.options("Pool2DOptions"), node.image()
    kind: Kind = "max" if node.type == "MAX_POOL_2D" else "average"
    kernel = options.FilterHeight(), options.FilterWidth()
    is_root = node.type == "L2_POOL_2D"
    x = square(node, x) if is_root else x
    y = windowed_pool(node, kind, x, _window(node, options, x.shape[2:], kernel))
    y = node.add("sqrt", y) if is_root else y
    return NchwImage(node.activated(y, options.FusedActivationFunction()))
