"""Weights as float32 after they were stored in a form, by numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.planner.packing import palette

Array = NDArray[Any]


def half(w: Array, axis: int) -> Array:
    """The nearest values of f16."""
    return w.astype(np.float16).astype(np.float32)


def int8(w: Array, axis: int) -> Array:
    """The nearest of 127 steps of the largest magnitude of each index of `axis`."""
    others = tuple(i for i in range(w.ndim) if i != axis)
    scales = np.abs(w).max(axis=others, keepdims=True) / np.float32(127)
    scales = np.where(scales > 0, scales, 1)
    rounded: Array = np.rint(w / scales) * scales
    return rounded.astype(np.float32)


def palette4(w: Array, axis: int) -> Array:
    """Products of a value of the palette and the scale of the index of `axis`."""
    table, indices = palette.to_palette(w, axis, "w")
    colors, scales = table[:16].astype(np.float32), table[16:].astype(np.float32)
    return colors[indices] * scales.reshape([-1 if i == axis else 1 for i in range(w.ndim)])


SCALED: Mapping[str, Callable[[Array, int], Array]] = {"int8": int8, "palette4": palette4}
"""The forms with a scale for each output channel: (weights, their dimension) -> values."""
