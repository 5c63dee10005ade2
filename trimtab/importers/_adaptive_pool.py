"""Pools to a given size (PyTorch's AdaptiveAvgPool2d, AdaptiveMaxPool2d), for every size.

Window i of n over a length l goes from floor(i l / n) to ceil((i + 1) l / n).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from trimtab.importers._layers import Array, Value

Add = Callable[..., Value]

# Windows of different lengths that a maximum may have in one direction: each is an operator.
MOST_WINDOWS = 64


def windows(length: int, count: int) -> list[tuple[int, int]]:
    """Begin and end of every window."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def adaptive_pool(
    add: Add,
    constant: Callable[[Array, str], Value],
    x: Value,
    size: tuple[int, int],
    kind: Literal["average", "max"],
) -> Value:
    """x: [n, c, h, w] pooled to `size` (height, width, both positive); `add` and `constant` make
    operators and constants.
    """
    h, w = x.shape[2:]
    if size == (h, w):
        return x
    if size == (1, 1):
        return add(f"global_{kind}_pool", x)
    if h % size[0] == 0 and w % size[1] == 0:
        step = (h // size[0], w // size[1])
        return add(f"{kind}_pool", x, kernel_shape=step, strides=step)
    if kind == "average":
        rows, columns = (_means(*pair) for pair in ((h, size[0]), (w, size[1])))
        y = add("mat_mul", constant(rows, "rows"), x)
        return add("mat_mul", y, constant(columns.T, "columns"))
    return _maxima(add, _maxima(add, x, 2, size[0]), 3, size[1])


def _means(length: int, count: int) -> Array:
    """float32[count, length] that takes means of windows."""
    matrix = np.zeros((count, length), np.float32)
    for row, (begin, end) in zip(matrix, windows(length, count), strict=True):
        row[begin:end] = 1.0 / (end - begin)
    return matrix


def _maxima(add: Add, x: Value, axis: int, count: int) -> Value:
    if count == x.shape[axis]:
        return x
    parts = []
    for begin, end in windows(x.shape[axis], count):
        part = add("slice", x, starts=(begin,), ends=(end,), axes=(axis,), steps=(1,))
        parts.append(add("reduce_max", part, axes=(axis,)))
    return add("concat", *parts, axis=axis)
