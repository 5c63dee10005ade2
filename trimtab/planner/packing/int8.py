"""Weights of float networks that are stored as int8, with a scale for each output channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.program.quantization import Quantization

Array = NDArray[Any]

LEAST_COLUMN = 16  # elements of an output channel: its scale and zero point take 8 bytes


_LARGEST = 127


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
    """
    scales = []
    for row in _rows(data, axis):
        scale = _exact_scale(row)
        if scale is None:
            return None
        scales.append(scale)
    return np.array(scales, np.float32)


def _rows(data: Array, axis: int) -> Array:
    return np.moveaxis(np.asarray(data, np.float32), axis, 0).reshape(data.shape[axis], -1)


def _exact_scale(row: Array) -> np.float32 | None:
    values = np.unique(np.abs(row[: 4 * _LARGEST]))
    if values.size <= _LARGEST + 1:
        values = np.unique(np.abs(row))
    if not values.size or not np.isfinite(values[-1]) or values.size > _LARGEST + 1:
        return None
    # The largest value is one of these products, rounded, so that its quotient is near the scale.
    near = (values[-1] / np.arange(1, _LARGEST + 1)).astype(np.float32).view(np.int32)
    candidates = (near[:, None] + np.arange(-2, 3, dtype=np.int32)).clip(0).view(np.float32)
    for scale in candidates.reshape(-1):
        if scale > 0 and np.array_equal(np.rint(values / scale) * scale, values):
            return np.float32(scale)
    return np.float32(0) if values[-1] == 0 else None
