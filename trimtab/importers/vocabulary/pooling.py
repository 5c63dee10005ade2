"""Pooling with a window, and adaptive pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.movement import axis_slice, concat, padded, sliced
from trimtab.importers.vocabulary.window import Pair, Window

Kind = Literal["average", "max"]

MAX_WINDOWS = 64
"""Limit of windows per axis that differ in size: each needs an operator of its own."""

_MAX_TAPS = 100  # pixels of a window whose maximum's index is computed

_MAX_PIXELS = 2**16  # per axis; no image has more


def pool(
    layer: ImportedLayer,
    kind: Kind,
    x: Value,
    window: Window,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    count_overhang: bool = False,
) -> Value:
    """Max or average pooling of x: [n, c, h, w].

    With `ceil_mode`, the last window may reach beyond the padded image; a mean counts these pixels
    only with `count_overhang`.
    """
    window.check(layer)
    if ceil_mode and not count_overhang:
        window = window.within(x.shape[2:])
    filled = window.filled(x.shape[2:]) if ceil_mode else window
    if count_overhang:
        window = filled
    counted = {"count_include_pad": count_include_pad and any(window.pads)}
    return layer.add(
        f"{kind}_pool",
        x,
        kernel_shape=window.kernel,
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        ceil_mode=filled != window,
        **(counted if kind == "average" else {}),
    )


def maximum_taps(layer: ImportedLayer, x: Value, window: Window, size: Sequence[int]) -> Value:
    """The index in its window, by rows, of the first maximum of each window of images x: [n, c, h,
    w]. The result is i64[n, c, windows], where `size` has the windows per height and width.
    """
    if (pixels := math.prod(window.kernel)) > _MAX_TAPS:
        raise layer.unsupported(f"the indices of maxima of {pixels} pixels are read")
    taps = list(np.ndindex(*window.kernel))
    n, c, *image = x.shape
    spans = [(count - 1) * window.strides[i] + 1 for i, count in enumerate(size)]
    pads = {
        2 + i: (
            window.pads[i],
            max(0, spans[i] + (window.kernel[i] - 1) * window.dilations[i] - n - window.pads[i]),
        )
        for i, n in enumerate(image)
    }
    y = padded(layer, x, pads, "constant", -math.inf)
    pieces = []
    for tap in taps:
        begins = [tap[i] * window.dilations[i] for i in range(2)]
        slices = [(2 + i, b, b + spans[i], window.strides[i]) for i, b in enumerate(begins)]
        piece = layer.value(sliced(layer, y, slices))
        pieces.append(layer.reshape(piece, (n, c, 1, math.prod(size))))
    stacked = layer.value(concat(layer, pieces, axis=2))
    return layer.add("arg_max", stacked, axis=2, keep_dims=False)


def adaptive_pool(layer: ImportedLayer, kind: Kind, x: Value, size: Pair) -> Value:
    """Pools x: [n, c, h, w] to `size` (height, width), as PyTorch does.

    Window i of n over a length l goes from floor(i * l / n) to ceil((i + 1) * l / n).
    """
    if min(size) < 1:
        raise layer.invalid(f"its size is {size[0]} x {size[1]}, it must be positive")
    if max(size) > _MAX_PIXELS:
        raise layer.unsupported(f"its size is {size[0]} x {size[1]}")
    if size == x.shape[2:]:
        return x
    if size == (1, 1):
        return layer.add(f"global_{kind}_pool", x)
    rows, columns = (_windows(n, count) for n, count in zip(x.shape[2:], size, strict=True))
    if (vertical := _regular(rows)) and (horizontal := _regular(columns)):
        (kernel_h, step_h), (kernel_w, step_w) = vertical, horizontal
        return pool(layer, kind, x, Window((kernel_h, kernel_w), (step_h, step_w)))
    if max(size) > MAX_WINDOWS:
        raise layer.unsupported(f"its {size[0]} x {size[1]} windows differ in size")
    if kind == "average":
        layer.check_elements((max(size), sum(x.shape[2:])))
        y = layer.add("mat_mul", layer.constant(_means(rows), "rows"), x)
        return layer.add("mat_mul", y, layer.constant(_means(columns).T, "columns"))
    return _maxima(layer, _maxima(layer, x, 2, rows), 3, columns)


def _windows(length: int, count: int) -> list[tuple[int, int]]:
    """Begin and end of each window."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def _regular(windows: list[tuple[int, int]]) -> Pair | None:
    """The common length and stride of all windows; None if they differ."""
    lengths = {end - begin for begin, end in windows}
    steps = {b[0] - a[0] for a, b in pairwise(windows)}
    if len(lengths) > 1 or len(steps) > 1 or 0 in steps:
        return None
    (length,) = lengths
    return length, steps.pop() if steps else length


def _means(windows: list[tuple[int, int]]) -> Array:
    """The matrix float32[count, length] that averages windows."""
    matrix = np.zeros((len(windows), windows[-1][1]), np.float32)
    for row, (begin, end) in zip(matrix, windows, strict=True):
        row[begin:end] = 1.0 / (end - begin)
    return matrix


def _maxima(layer: ImportedLayer, x: Value, axis: int, windows: list[tuple[int, int]]) -> Value:
    if len(windows) == x.shape[axis]:
        return x
    parts = [
        layer.add("reduce_max", axis_slice(layer, x, axis, begin, end), axes=(axis,))
        for begin, end in windows
    ]
    return parts[0] if len(parts) == 1 else layer.add("concat", *parts, axis=axis)
