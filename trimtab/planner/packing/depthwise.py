"""Tiles for the depthwise kernels (`DepthwiseF32Args`): nr channels side by side, taps outside.

Taps go column by column, as neighbouring windows share columns of pointers. The last tile ends at
the last channel and overlaps the one before, so that kernels know whole vectors only; fewer than nr
channels are filled up with zeros.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


def pack(w: FloatArray, nr: int) -> FloatArray:
    """w: float32[c, 1, kh, kw] -> flat [tile][kw][kh][nr]."""
    channels, _, kh, kw = w.shape
    first = np.minimum(np.arange(0, channels, nr), max(channels - nr, 0))
    padded = np.zeros((max(channels, nr), kh, kw), np.float32)
    padded[:channels] = w[:, 0]
    tiles = padded[first[:, None] + np.arange(nr)]
    return tiles.transpose(0, 3, 2, 1).reshape(-1)
