"""Conv, MaxPool and AveragePool of volumes [n, c, d, h, w], by operators on images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.onnx_ops.node import OnnxNode
from trimtab.importers.vocabulary import pooling as pools
from trimtab.importers.vocabulary import sampling
from trimtab.importers.vocabulary.convolution import convolve
from trimtab.importers.vocabulary.movement import axis_slice, concat, padded, sliced
from trimtab.importers.vocabulary.pooling import Kind
from trimtab.importers.vocabulary.window import Window, as_pair, same_pads


def _each(values: Sequence[int]) -> tuple[int, ...]:
    """One value per axis of a volume, by default 1."""
    return tuple(values) or (1, 1, 1)


def _pads(node: OnnxNode, x: Value, kernel: Sequence[int]) -> tuple[int, ...]:
    """Padding of depth, height and width at the beginning, then at the end."""
    mode = node.text("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return node.integers("pads") or (0,) * 6
    if mode == "VALID":
        return (0,) * 6
    strides, dilations = _each(node.integers("strides")), _each(node.integers("dilations"))
    return same_pads(x.shape[2:], kernel, strides, dilations, lower=mode != "SAME_UPPER")


def _flat(
    kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]
) -> Window:
    """The window in height and width."""
    pads_2d = (*pads[1:3], *pads[4:6])
    kernel_2d, strides_2d = as_pair(kernel[1:], 1), as_pair(strides[1:], 1)
    return Window(kernel_2d, strides_2d, pads_2d, as_pair(dilations[1:], 1))


def pool(node: OnnxNode, kind: Kind, *, ceil_mode: bool, counted: bool) -> Value:
    """Pools height and width, then depth.

    Maxima can be nested, and so can means, because all windows of a mean have the same number of
    values per depth.
    """
    x, kernel = node.x(0), node.integers("kernel_shape")
    strides, dilations = _each(node.integers("strides")), _each(node.integers("dilations"))
    top = _pads(node, x, kernel)
    n, c, d, h, w = x.shape
    flat = _flat(kernel, strides, top, dilations)
    deep = Window((kernel[0], 1), (strides[0], 1), (top[0], 0, top[3], 0), (dilations[0], 1))
    modes = {"ceil_mode": ceil_mode, "count_include_pad": counted}
    y = pools.pool(node, kind, node.reshape(x, (n, c * d, h, w)), flat, **modes)
    h, w = y.shape[2:]
    y = pools.pool(node, kind, node.reshape(y, (n, c, d, h * w)), deep, **modes)
    return node.reshape(y, (n, c, y.shape[2], h, w))


def conv(node: OnnxNode, weight: Array, bias: Array | None) -> Value:
    """Turns the depth slices of a kernel into channels, and output depths into batch images.

    weight: [m, c / group, kd, kh, kw], bias: [m].
    """
    x, kernel, group = node.x(0), weight.shape[2:], node.integer("group", 1)
    strides, dilations = _each(node.integers("strides")), _each(node.integers("dilations"))
    pads = _pads(node, x, kernel)
    n, c, d, h, w = x.shape
    y = node.reshape(x, (n, c, d, h * w))
    y = padded(node, y, {2: pads[0::3]})
    depth = (y.shape[2] - (kernel[0] - 1) * dilations[0] - 1) // strides[0] + 1
    if depth < 1:
        raise node.unsupported("its kernel is deeper than its input")
    span = (depth - 1) * strides[0] + 1
    slices = [
        node.reshape(
            node.value(sliced(node, y, [(2, begin, begin + span, strides[0])])),
            (n, group, c // group, depth * h * w),
        )
        for begin in range(0, kernel[0] * dilations[0], dilations[0])
    ]
    y = node.value(concat(node, slices, axis=2))
    y = node.reshape(y, (n, c * kernel[0], depth, h * w))
    y = node.transpose(y, (0, 2, 1, 3))
    flat = np.ascontiguousarray(weight.swapaxes(1, 2).reshape(weight.shape[0], -1, *kernel[1:]))
    y = node.reshape(y, (n * depth, c * kernel[0], h, w))
    y = convolve(node, y, flat, bias, _flat(kernel, strides, pads, dilations), group)
    _, m, h, w = y.shape
    y = node.transpose(node.reshape(y, (n, depth, m, h * w)), (0, 2, 1, 3))
    return node.reshape(y, (n, m, depth, h, w))


def grid_sample(node: OnnxNode) -> Value:
    """Samples volumes [n, c, d, h, w] at the places of a grid [n, ..., 3]: x, y, z."""
    x, grid, mode = node.x(0), node.x(1), node.text("mode", "linear")
    padding, aligned = node.text("padding_mode", "zeros"), bool(node.integer("align_corners", 0))
    is_nearest = mode == "nearest"
    if mode not in ("nearest", "linear", "bilinear"):
        raise node.unsupported(f"its input has 5 dimensions, its mode is {mode}")
    n, c, *sizes = x.shape
    shape = (n, *grid.shape[1:4])
    taps = []
    for axis, size in enumerate(sizes):
        at = node.reshape(axis_slice(node, grid, 4, 2 - axis, 3 - axis), shape)
        if aligned:
            at = node.scale_and_shift(at, (size - 1) / 2, (size - 1) / 2)
        else:
            at = node.scale_and_shift(at, size / 2, (size - 1) / 2)
        if padding == "reflection":
            edge = 0.0 if aligned else -0.5
            at = sampling.reflected(node, at, edge, size - 1 - edge)
        if padding != "zeros":
            at = node.add("clip", at, alpha=0.0, beta=float(size - 1))
        around = (sampling.nearest_tap if is_nearest else sampling.linear_taps)(node, at, size)
        if padding == "zeros":
            around = sampling.zero_outside(node, around, at, size, nearest=is_nearest)
        taps.append(around)
    elements = math.prod(sizes)
    flat = node.reshape(node.transpose(x, (1, 0, 2, 3, 4)), (c, n * elements))
    base = node.value((np.arange(n, dtype=np.int64) * elements).reshape(n, 1, 1, 1))
    y = node.combined("add", sampling.corners(node, flat, sizes, taps, base))
    return node.transpose(y, (1, 0, 2, 3, 4))
