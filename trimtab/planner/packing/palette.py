"""Weights of float networks that are stored as 4-bit indices of a palette.

A weight is the product of a value of the palette, which all output channels share, and the scale of
its output channel. k-means (Lloyd 1982) chooses the palette: each weight takes the nearest product,
and each value becomes the mean of its weights. Between these turns, each scale becomes that with
the least error of its channel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.planner.float16 import to_f16

Array = NDArray[Any]

COLORS = 16
_TURNS, _MEANS = 3, 30  # of scales, and of means for these
_SAMPLE = 1 << 17  # weights that the means are of, at least, if there are more
_BINS = 4096  # of weights relative to their scale, for the means
_EXPONENTS = (-6, 15)  # of a palette's largest value: none of its values has fewer bits


def stored_bytes(count: int, columns: int) -> int:
    """The bytes of `count` weights in that number of output channels."""
    return 2 * (COLORS + columns) + (count + 1) // 2


def to_palette(data: Array, axis: int, name: str) -> tuple[Array, Array]:
    """The palette and the scales of each index of `axis`, together float16[16 + columns], and the
    index of each element of `data` in the palette, uint8. PlanError, with the `name` of the
    constant, for weights beyond f16.
    """
    rows = np.moveaxis(np.asarray(data, np.float32), axis, 0)
    shape, rows = rows.shape, rows.reshape(len(rows), -1)
    scales = np.abs(rows).max(axis=1, initial=0)
    largest = scales.max(initial=0)
    exponent = np.clip(np.frexp(largest)[1], *_EXPONENTS) if largest else 0
    scales = scales * np.float32(2.0**-exponent)
    some = rows[:, :: max(1, min(rows.size // _SAMPLE, rows.shape[1] // COLORS))]
    for turn in range(_TURNS):
        relative = _relative(some, scales)
        colors = _means(relative, scales)
        if turn + 1 < _TURNS:
            chosen = colors[_nearest(relative, colors)]
            energy = np.square(chosen).sum(axis=1)
            better = (some * chosen).sum(axis=1) / np.where(energy > 0, energy, 1)
            scales = np.where(energy > 0, better, scales).astype(np.float32)
    table = to_f16(np.concatenate([colors, scales]), name, "store this network's weights as f32")
    colors, scales = table[:COLORS].astype(np.float32), table[COLORS:].astype(np.float32)
    indices = _nearest(_relative(rows, scales), colors).astype(np.uint8)
    return table, np.moveaxis(indices.reshape(shape), 0, axis)


def joined(table: Array, indices: Array) -> Array:
    """The bytes of a palette and of flat indices, two in a byte, the first one in its low half."""
    even = np.pad(indices, (0, indices.size % 2))
    return np.concatenate([table.view(np.uint8), even[::2] | even[1::2] << 4])


def _relative(rows: Array, scales: Array) -> Array:
    return rows / np.where(scales != 0, scales, 1)[:, None]


def _nearest(relative: Array, colors: Array) -> Array:
    """The index of the color nearest to each weight relative to its scale."""
    return np.searchsorted((colors[1:] + colors[:-1]) / 2, relative)


def _means(relative: Array, scales: Array) -> Array:
    """The colors, ascending: the means of the weights that are nearest to them, relative to their
    scales, by the square of which an error counts.
    """
    limit = np.abs(relative).max(initial=0) or 1
    bins = ((relative.ravel() / limit + 1) * (_BINS / 2 - 0.5)).astype(np.int32)
    counts = np.repeat(np.square(scales, dtype=np.float64), relative.shape[1])
    weights = np.bincount(bins, counts, _BINS)
    totals = np.bincount(bins, counts * relative.ravel(), _BINS)
    centers = (np.arange(_BINS) / (_BINS / 2 - 0.5) - 1) * limit
    # Between equal distances and equal shares of the weights.
    shares = np.interp(
        (np.arange(COLORS) + 0.5) / COLORS, weights.cumsum() / (weights.sum() or 1), centers
    )
    colors = (np.linspace(-limit, limit, COLORS) + shares) / 2
    for _ in range(_MEANS):
        nearest = np.searchsorted((colors[1:] + colors[:-1]) / 2, centers)
        weight, total = (np.bincount(nearest, x, COLORS) for x in (weights, totals))
        colors = np.sort(np.where(weight > 0, total / np.where(weight > 0, weight, 1), colors))
    return colors.astype(np.float32)
