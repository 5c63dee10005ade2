"""Convolutions, pools, and the padding that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trimtab.importers._layers import Array, Value
from trimtab.importers.tflite_ops.node import Blocks, Image, Node, Results, handles

Pair = tuple[int, int]

_SAME, _VALID = 0, 1


def _pads(
    node: Node, options: Any, size: Sequence[int], kernel: Pair, strides: Pair, dilations: Pair
) -> tuple[int, int, int, int]:
    """Top, left, bottom, right; SAME puts the odd pixel at the end."""
    if min(*kernel, *strides, *dilations) < 1:
        raise node.invalid(f"its window is {kernel}, its stride {strides}")
    if options.Padding() != _SAME:
        return (0, 0, 0, 0)
    totals = [
        max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
        for n, k, s, d in zip(size, kernel, strides, dilations, strict=True)
    ]
    top, left = (total // 2 for total in totals)
    return top, left, totals[0] - top, totals[1] - left


def _bias(node: Node, i: int, outputs: int) -> list[Value]:
    if not node.has(i):
        return []
    return [node.constant(node.weights(i, "bias", (outputs,)), "bias")]


def _turned(weight: Array, order: tuple[int, ...]) -> Array:
    return np.ascontiguousarray(weight.transpose(order))


@handles("CONV_2D")
def convolution(node: Node) -> Results:
    """Weights [m, kh, kw, c / groups]."""
    options, x = node.options("Conv2DOptions"), _image(node)
    weight = node.weights(1, "weights", (-1, -1, -1, -1))
    _, kernel_h, kernel_w, channels = weight.shape
    if not channels or x.shape[1] % channels:
        raise node.invalid(f"weights of {channels} channels do not fit {x.shape[1]}")
    return _convolved(
        node,
        options,
        x,
        _turned(weight, (0, 3, 1, 2)),
        (kernel_h, kernel_w),
        x.shape[1] // channels,
    )


@handles("DEPTHWISE_CONV_2D")
def depthwise_convolution(node: Node) -> Results:
    """Weights [1, kh, kw, c * multiplier]."""
    options, x = node.options("DepthwiseConv2DOptions"), _image(node)
    weight = node.weights(1, "weights", (1, -1, -1, -1))
    _, kernel_h, kernel_w, outputs = weight.shape
    if outputs % x.shape[1]:
        raise node.invalid(f"weights of {outputs} channels do not fit {x.shape[1]}")
    return _convolved(
        node, options, x, _turned(weight, (3, 0, 1, 2)), (kernel_h, kernel_w), x.shape[1]
    )


def _convolved(
    node: Node, options: Any, x: Value, weight: Array, kernel: Pair, group: int
) -> Results:
    strides = options.StrideH(), options.StrideW()
    dilations = options.DilationHFactor(), options.DilationWFactor()
    blocks = node.blocks(0)
    if blocks:
        if (options.Padding(), strides, dilations) == (_VALID, (1, 1), (1, 1)):
            y = _conv(
                node, options, blocks.value, weight, strides, blocks.pads, blocks.block, group
            )
            return Blocks(y, blocks.block, (0, 0, 0, 0))
        x = node.image(0)
    pads = _pads(node, options, x.shape[2:], kernel, strides, dilations)
    return Image(_conv(node, options, x, weight, strides, pads, dilations, group))


def _image(node: Node) -> Value:
    """The image, or the one whose blocks are convolved."""
    blocks = node.blocks(0)
    return blocks.value if blocks else node.image(0)


def _conv(
    node: Node,
    options: Any,
    x: Value,
    weight: Array,
    strides: Pair,
    pads: tuple[int, int, int, int],
    dilations: Pair,
    group: int,
) -> Value:
    y = node.add(
        "conv",
        x,
        node.constant(weight, "weight"),
        *_bias(node, 2, weight.shape[0]),
        strides=strides,
        pads=pads,
        dilations=dilations,
        group=group,
    )
    return node.activated(y, options.FusedActivationFunction())


@handles("TRANSPOSE_CONV")
def transposed_convolution(node: Node) -> Results:
    """The size of the result, weights [m, kh, kw, c], x."""
    options, x = node.options("TransposeConvOptions"), node.image(2)
    size = node.ints(0, "output size")
    weight = node.weights(1, "weights", (-1, -1, -1, x.shape[1]))
    outputs, kernel_h, kernel_w, _ = weight.shape
    if len(size) != 4:
        raise node.invalid(f"its output size is {list(size)}")
    kernel, strides = (kernel_h, kernel_w), (options.StrideH(), options.StrideW())
    begin = _pads(node, options, size[1:3], kernel, strides, (1, 1))[:2]
    # What the kernel reaches beyond the wanted size is cut off, what it does not reach is filled.
    reach = [(n - 1) * s + k for n, s, k in zip(x.shape[2:], strides, kernel, strict=True)]
    ends = [r - b - n for r, b, n in zip(reach, begin, size[1:3], strict=True)]
    y = node.add(
        "conv_transpose",
        x,
        node.constant(_turned(weight, (3, 0, 1, 2)), "weight"),
        *_bias(node, 3, outputs),
        strides=strides,
        pads=(*begin, *(max(0, end) for end in ends)),
        output_padding=tuple(max(0, -end) for end in ends),
    )
    return Image(node.activated(y, options.FusedActivationFunction()))


@handles("MAX_POOL_2D", "AVERAGE_POOL_2D")
def pool(node: Node) -> Results:
    """Means do not count padding."""
    options, x = node.options("Pool2DOptions"), node.image(0)
    kernel = options.FilterHeight(), options.FilterWidth()
    strides = options.StrideH(), options.StrideW()
    y = node.add(
        "max_pool" if node.type == "MAX_POOL_2D" else "average_pool",
        x,
        kernel_shape=kernel,
        strides=strides,
        pads=_pads(node, options, x.shape[2:], kernel, strides, (1, 1)),
    )
    return Image(node.activated(y, options.FusedActivationFunction()))
