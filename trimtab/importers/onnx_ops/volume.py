"""Convolutions, pools and samples of volumes [n, c, d, h, w], by operators on images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers.onnx_ops.node import OnnxNode
from trimtab.importers.vocabulary import pooling as pools
from trimtab.importers.vocabulary import sampling
from trimtab.importers.vocabulary.movement import axis_slice
from trimtab.importers.vocabulary.pooling import Kind
from trimtab.importers.vocabulary.volume import (
    ONES,
    VolumeWindow,
    convolve_volume,
    deconvolve_volume,
)
from trimtab.importers.vocabulary.window import Pads, same_pads, split_padding


def _each(values: Sequence[int]) -> tuple[int, ...]:
    """One value per axis of a volume, by default 1."""
    return tuple(values) or ONES


def _window(node: OnnxNode, x: Value, kernel: Sequence[int]) -> VolumeWindow:
    """The window of a convolution or pool."""
    strides, dilations = _each(node.integers("strides")), _each(node.integers("dilations"))
    mode = node.text("auto_pad", "NOTSET")
    pads: Pads = (0,) * 6
    if mode == "NOTSET":
        pads = node.integers("pads") or pads
    elif mode != "VALID":
        pads = same_pads(x.shape[2:], kernel, strides, dilations, lower=mode != "SAME_UPPER")
    return VolumeWindow(kernel, strides, pads, dilations)


def pool(node: OnnxNode, kind: Kind, *, ceil_mode: bool, counted: bool) -> Value:
    """Pools height and width, then depth.

    Maxima can be nested, and so can means, because all windows of a mean have the same number of
    values per depth.
    """
    x, window = node.x(0), _window(node, node.x(0), node.integers("kernel_shape"))
    n, c, d, h, w = x.shape
    modes = {"ceil_mode": ceil_mode, "count_include_pad": counted}
    y = pools.pool(node, kind, node.reshape(x, (n, c * d, h, w)), window.flat(), **modes)
    h, w = y.shape[2:]
    y = pools.pool(node, kind, node.reshape(y, (n, c, d, h * w)), window.deep(), **modes)
    return node.reshape(y, (n, c, y.shape[2], h, w))


def conv(node: OnnxNode, weight: Operand, bias: Array | None) -> Value:
    """Convolution with weight: [m, c / group, kd, kh, kw], constant or computed; bias: [m]."""
    x = node.x(0)
    window = _window(node, x, weight.shape[2:])
    return convolve_volume(node, x, weight, bias, window, node.integer("group", 1))


def conv_transpose(node: OnnxNode, weight: Operand, bias: Array | None) -> Value:
    """Transposed convolution with weight: [c, m / group, kd, kh, kw], constant or computed; bias:
    [m].
    """
    x, kernel = node.x(0), weight.shape[2:]
    strides, dilations = _each(node.integers("strides")), _each(node.integers("dilations"))
    pads, extra = _transposed_pads(node, x, kernel, strides, dilations)
    window = VolumeWindow(kernel, strides, pads, dilations)
    return deconvolve_volume(node, x, weight, bias, window, node.integer("group", 1), extra)


def _transposed_pads(
    node: OnnxNode,
    x: Value,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[Pads, tuple[int, ...]]:
    """Padding that crops a transposed convolution, and what is added at the end of each axis."""
    extra = node.integers("output_padding") or (0, 0, 0)
    mode = node.text("auto_pad", "NOTSET")
    if sizes := node.integers("output_shape"):
        sizes = sizes[-3:]
    elif mode.startswith("SAME"):
        sizes = tuple(n * s for n, s in zip(x.shape[2:], strides, strict=True))
    else:
        return (node.integers("pads") if mode == "NOTSET" else ()) or (0,) * 6, extra
    surplus = [
        (n - 1) * s + (k - 1) * d + 1 + e - size
        for n, s, k, d, e, size in zip(
            x.shape[2:], strides, kernel, dilations, extra, sizes, strict=True
        )
    ]
    pads = split_padding(surplus, lower=mode != "SAME_UPPER")
    return pads, tuple(e + max(0, -s) for e, s in zip(extra, surplus, strict=True))


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
