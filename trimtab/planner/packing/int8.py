"""Weights of float networks that are stored as int8, with a scale for each output channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.program.quantization import Quantization

Array = NDArray[Any]

LEAST_COLUMN = 16  # elements of an output channel: its scale and zero point take 8 bytes


def to_int8(data: Array, axis: int) -> tuple[Array, Quantization]:
    """Rounds `data` to multiples of a scale for each index of `axis`, whose largest magnitude
    becomes 127; zero points are 0.
    """
    others = tuple(i for i in range(data.ndim) if i != axis)
    largest = np.abs(np.asarray(data, np.float32)).max(axis=others, keepdims=True)
    quantization = Quantization.of(largest / 127, 0, axis).with_live_scales()
    scales = np.asarray(quantization.scale, np.float32).reshape(largest.shape)
    return np.rint(data / scales).clip(-127, 127).astype(np.int8), quantization
