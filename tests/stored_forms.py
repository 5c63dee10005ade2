"""Weights as float32 after they were stored in a form, by numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.planner.packing import coding

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


def _bits(count: int) -> Callable[[Array, int], Array]:
    """The nearest steps, which are a fraction of the root mean square of each index of `axis`."""

    def steps(w: Array, axis: int) -> Array:
        others = tuple(i for i in range(w.ndim) if i != axis)
        rms = np.sqrt((w.astype(np.float64) ** 2).mean(axis=others, keepdims=True))
        scales = np.maximum(rms / 2 ** (count - 2), np.abs(w).max(axis=others, keepdims=True) / 127)
        scales = np.maximum(scales, 2.0**-126).astype(np.float32)
        # Up to eight bits.
        mantissa, exponent = np.frexp(scales)
        scales = np.ldexp(np.ceil(mantissa * 256) / 256, exponent).astype(np.float32)
        rounded: Array = np.rint(w / scales) * scales
        return rounded.astype(np.float32)

    return steps


SCALED: Mapping[str, Callable[[Array, int], Array]] = {
    "int8": int8,
    **{form: _bits(bits) for form, bits in coding.FORMS.items()},
}
"""The forms with a scale for each output channel: (weights, their dimension) -> values."""
