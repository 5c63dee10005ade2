"""Convolutions, pools and samples of volumes [n, c, d, h, w], by operators on images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers.onnx_ops.node import OnnxNode
from trimtab.importers.vocabulary import pooling as pools
from trimtab.importers.vocabulary import sampling
from trimtab.importers.vocabulary.convolution import (
    check_groups,
    convolve,
    convolve_computed,
    deconvolve,
    deconvolve_computed,
)
from trimtab.importers.vocabulary.movement import axis_slice, concat, dilated, padded, sliced
from trimtab.importers.vocabulary.pooling import Kind
from trimtab.importers.vocabulary.window import Pads, Window, as_pair, same_pads, split_padding


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


def conv(node: OnnxNode, weight: Operand, bias: Array | None) -> Value:
    """Turns the depth slices of a kernel into channels, and output depths into batch images.

    weight: [m, c / group, kd, kh, kw], constant or computed; bias: [m].
    """
    x, kernel, group = node.x(0), weight.shape[2:], node.integer("group", 1)
    strides, dilations = _each(node.integers("strides")), _each(node.integers("dilations"))
    pads = _pads(node, x, kernel)
    channels, n, depth = x.shape[1], x.shape[0], _depth(x, kernel, pads, strides, dilations)
    check_groups(node, group, channels, weight.shape[0])
    y = padded(node, _flat_planes(node, x), {2: pads[0::3]})
    places = [tap * dilations[0] for tap in range(kernel[0])]
    y = _stacked_slices(node, y, places, strides[0], depth, group, x.shape[3:])
    flat = node.transpose(weight, (0, 2, 1, 3, 4))
    flat = node.reshape(flat, (weight.shape[0], -1, *kernel[1:]))
    window = _flat(kernel, strides, pads, dilations)
    if isinstance(flat, Value):
        y = convolve_computed(node, y, flat, window, group)
    else:
        y = convolve(node, y, np.ascontiguousarray(flat), bias, window, group)
    return _from_images(node, y, n)


def conv_transpose(node: OnnxNode, weight: Operand, bias: Array | None) -> Value:
    """Transposed convolution: a convolution along the depth, with zeros between the slices of x and
    the taps in reverse order, and a transposed one of images.

    weight: [c, m / group, kd, kh, kw], constant or computed; bias: [m].
    """
    x, kernel, group = node.x(0), weight.shape[2:], node.integer("group", 1)
    strides, dilations = _each(node.integers("strides")), _each(node.integers("dilations"))
    (n, c), outputs = x.shape[:2], weight.shape[1]
    check_groups(node, group, c, outputs * group)
    pads, extra = _transposed_pads(node, x, kernel, strides, dilations)
    y = dilated(node, _flat_planes(node, x), 2, strides[0])
    reach = (kernel[0] - 1) * dilations[0]
    y = padded(node, y, {2: (reach - pads[0], reach - pads[3] + extra[0])})
    places = [tap * dilations[0] for tap in reversed(range(kernel[0]))]
    y = _stacked_slices(node, y, places, 1, y.shape[2] - reach, group, x.shape[3:])
    flat = node.reshape(weight, (group, c // group, outputs, *kernel))
    flat = node.transpose(flat, (0, 3, 1, 2, 4, 5))
    flat = node.reshape(flat, (c * kernel[0], outputs, *kernel[1:]))
    window, extra_2d = _flat(kernel, strides, pads, dilations), as_pair(extra[1:], 0)
    if isinstance(flat, Value):
        y = deconvolve_computed(node, y, flat, window, group, extra_2d)
    else:
        flat = np.ascontiguousarray(flat)
        y = deconvolve(node, y, flat, bias, window, group, extra_2d)
    return _from_images(node, y, n)


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


def _depth(
    x: Value,
    kernel: Sequence[int],
    pads: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> int:
    """The depth of a convolution's result."""
    room = x.shape[2] + pads[0] + pads[3] - (kernel[0] - 1) * dilations[0] - 1
    return room // strides[0] + 1


def _flat_planes(node: OnnxNode, x: Value) -> Value:
    """[n, c, d, h * w] of x: [n, c, d, h, w]."""
    return node.reshape(x, (*x.shape[:3], -1))


def _stacked_slices(
    node: OnnxNode,
    x: Value,
    places: Sequence[int],
    stride: int,
    depth: int,
    group: int,
    size: Sequence[int],
) -> Value:
    """Images [n * depth, c * taps, h, w] of x: [n, c, d, h * w]: image i of each batch has the
    slices at i * stride + place for each place, which are channels within each group.
    """
    if depth < 1:
        raise node.unsupported("its kernel is deeper than its input")
    n, c = x.shape[:2]
    span = (depth - 1) * stride + 1
    slices = [
        node.reshape(
            node.value(sliced(node, x, [(2, begin, begin + span, stride)])),
            (n, group, c // group, -1),
        )
        for begin in places
    ]
    y = node.value(concat(node, slices, axis=2))
    y = node.reshape(y, (n, c * len(places), depth, -1))
    y = node.transpose(y, (0, 2, 1, 3))
    return node.reshape(y, (n * depth, c * len(places), *size))


def _from_images(node: OnnxNode, y: Value, n: int) -> Value:
    """[n, m, depth, h, w] of images [n * depth, m, h, w]."""
    (count, m), size = y.shape[:2], y.shape[2:]
    y = node.transpose(node.reshape(y, (n, count // n, m, -1)), (0, 2, 1, 3))
    return node.reshape(y, (n, m, count // n, *size))


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
