"""Tiles for the depthwise kernels (`DepthwiseF32Args`): nr channels side by side, taps outside.

Taps go column by column, as neighbouring windows share columns of pointers. Results are flat
float32; the last tile is filled up with zeros.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


def pack(w: FloatArray, nr: int) -> FloatArray:
    """w: float32[c, 1, kh, kw] -> [tile][kw][kh][nr]."""
    channels, _, kh, kw = w.shape
    tiles = -(-channels // nr)
    padded = np.zeros((tiles * nr, kh, kw), np.float32)
    padded[:channels] = w[:, 0]
    return padded.reshape(tiles, nr, kh, kw).transpose(0, 3, 2, 1).reshape(-1)


def pack_bias(bias: FloatArray, nr: int) -> FloatArray:
    """bias: float32[c] -> [c padded to nr]."""
    return np.pad(bias, (0, -len(bias) % nr)).astype(np.float32)
