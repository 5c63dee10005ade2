"""Weights of float networks that are stored as int8, with a scale for each output channel."""

from __future__ import annotations

import weakref
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.program.quantization import Quantization

Array = NDArray[Any]

LEAST_COLUMN = 16  # elements of an output channel: its scale and zero point take 8 bytes

_LARGEST = 127
_CHUNK = 128  # rows that are examined at once
# Elements of a row that most wrong scales do not fit, and of those that fit them, almost all.
_SAMPLES = (3, 12)


def to_int8(data: Array, axis: int) -> tuple[Array, Quantization]:
    """Rounds `data` to multiples of a scale for each index of `axis`: exact ones if there are any,
    else those whose largest magnitude becomes 127; zero points are 0.
    """
    rows = _rows(data, axis)
    scales = exact_scales(data, axis)
    if scales is None:
        scales = np.abs(rows).max(axis=1) / _LARGEST
    quantization = Quantization.of(scales, 0, axis).with_live_scales()
    dims = [-1 if i == axis else 1 for i in range(data.ndim)]
    scales = np.asarray(quantization.scale, np.float32).reshape(dims)
    return np.rint(data / scales).clip(-_LARGEST, _LARGEST).astype(np.int8), quantization


def exact_scales(data: Array, axis: int) -> Array | None:
    """A scale for each index of `axis`, float32, of which all elements are products with int8, as
    weights that a file stores so; None if there are none.

    The answer is remembered while the array exists: each plan of a network asks again.
    """
    key = (id(data), axis)
    if key in _ANSWERS:
        scales = _ANSWERS[key][1]
        if scales is None or _are_products(_rows(data, axis), scales):
            return scales
    scales = _search(_rows(data, axis))
    _ANSWERS[key] = (weakref.ref(data, lambda _: _ANSWERS.pop(key, None)), scales)
    return scales


_ANSWERS: dict[tuple[int, int], tuple[weakref.ref[Array], Array | None]] = {}
"""Arrays and their scales, by the identity of the array and the axis."""


def _are_products(rows: Array, scales: Array) -> bool:
    """Whether all elements are products of int8 and the scale of their row, 0 for a row of 0."""
    columns = scales[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        products = np.rint(rows / columns) * columns
    return bool(((products == rows) | ((columns == 0) & (rows == 0))).all())


def _search(rows: Array) -> Array | None:
    """The scales of `exact_scales`, of rows."""
    if not rows.size:
        return None
    # np.unique would import numpy.ma, for 8 ms.
    few = np.sort(np.abs(rows[0, : 4 * _LARGEST]))
    if np.count_nonzero(few[1:] != few[:-1]) > _LARGEST:
        return None
    scales = np.zeros(len(rows), np.float32)
    bounds = [0, 1, *range(_CHUNK, len(rows), _CHUNK), len(rows)]  # most networks fail at once
    for start, end in pairwise(bounds):
        part = np.abs(rows[start:end])
        peaks = part.max(axis=1)
        if not np.isfinite(peaks).all():
            return None
        live = peaks > 0
        candidates = _candidates(peaks[live])
        fitting = _first_fitting(part[live], candidates)
        if fitting is None:
            return None
        scales[start:end][live] = fitting
    return scales


def _rows(data: Array, axis: int) -> Array:
    return np.moveaxis(np.asarray(data, np.float32), axis, 0).reshape(data.shape[axis], -1)


def _candidates(peaks: Array) -> Array:
    """Scales for rows with these largest values, (rows, candidates), largest first. A peak is one
    of 127 products, rounded, so that its quotient is near the scale.
    """
    near: Array = (peaks[:, None] / np.arange(1, _LARGEST + 1)).astype(np.float32).view(np.int32)
    near = near[:, :, None] + np.arange(-2, 3, dtype=np.int32)
    return near.clip(1).view(np.float32).reshape(len(peaks), 5 * _LARGEST)


def _first_fitting(rows: Array, candidates: Array) -> Array | None:
    """The first candidate of each row that fits all elements, None if a row has none."""
    first, more = _SAMPLES
    with np.errstate(over="ignore", invalid="ignore"):  # quotients by scales near 0
        few, scales = rows[:, None, :first], candidates[:, :, None]
        possible = (np.rint(few / scales) * scales == few).all(axis=2)
        places = np.nonzero(possible)
        some, scales = rows[places[0], first:more], candidates[places][:, None]
        possible[places] = (np.rint(some / scales) * scales == some).all(axis=1)
    fitting = np.zeros(len(rows), np.float32)
    pending = np.arange(len(rows))
    while pending.size:
        if not possible[pending].any(axis=1).all():
            return None
        chosen = possible[pending].argmax(axis=1)
        scale = candidates[pending, chosen]
        values = rows[pending]
        fits = (np.rint(values / scale[:, None]) * scale[:, None] == values).all(axis=1)
        fitting[pending[fits]] = scale[fits]
        possible[pending, chosen] = False
        pending = pending[~fits]
    return fitting
