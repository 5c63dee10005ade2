"""Weights of Winograd convolution F(m x m, 3 x 3) (Lavin & Gray 2016), transformed ahead of time.

An output tile of m x m pixels is A^T [(G g G^T) * (B^T d B)] A for weights g and inputs d, where *
goes element by element. The matrices are Toom-Cook's at the points below. B^T and A^T are in
kernels/generic/winograd.h: a row can be scaled only here and there together. Points of small size
with small inverses keep rounding errors small (Barabasz et al. 2020).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]

_HALF = Fraction(1, 2)
# Tile -> the finite points, and what the row of each is scaled by so that B^T is as it is there.
_POINTS: dict[int, tuple[tuple[Fraction | int, Fraction | int], ...]] = {
    2: ((0, 1), (1, _HALF), (-1, _HALF)),
    4: (
        (0, Fraction(1, 4)),
        (1, Fraction(-1, 6)),
        (-1, Fraction(-1, 6)),
        (2, Fraction(1, 24)),
        (-2, Fraction(1, 24)),
    ),
    6: (
        (0, 1),
        (1, Fraction(-2, 9)),
        (-1, Fraction(-2, 9)),
        (2, Fraction(1, 90)),
        (-2, Fraction(1, 90)),
        (_HALF, Fraction(2, 90)),
        (-_HALF, Fraction(2, 90)),
    ),
}
TILES = tuple(_POINTS)


def weight_transform(tile: int) -> NDArray[np.float64]:
    """G: float64[tile + 2, 3]; a row is (1, p, p^2) at a point p, scaled, the last one at
    infinity.
    """
    rows = [[scale * Fraction(p) ** i for i in range(3)] for p, scale in _POINTS[tile]]
    return np.array([*rows, [0, 0, 1]], np.float64)


def pack(w: FloatArray, tile: int, nr: int) -> FloatArray:
    """w: float32[c_out, c_in, 3, 3] -> [(tile + 2)^2][panel][c_in][nr]."""
    g = weight_transform(tile)
    elements, (c_out, c_in) = (tile + 2) ** 2, w.shape[:2]
    packed = np.zeros((elements, -(-c_out // nr), c_in, nr), np.float32)
    # A panel at a time: in float64 all of them take twice the memory of the result.
    for panel in range(packed.shape[1]):
        some = w[panel * nr : (panel + 1) * nr].astype(np.float64)
        transformed = np.einsum("ai,ocij,bj->abco", g, some, g, optimize=True)
        packed[:, panel, :, : len(some)] = transformed.reshape(elements, c_in, -1)
    return packed.reshape(-1)
