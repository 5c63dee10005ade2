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

from trimtab.packing.gemm import pack_groups

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
    elements = (tile + 2) ** 2
    transformed = np.einsum("ai,ocij,bj->aboc", g, w.astype(np.float64), g, optimize=True)
    return pack_groups(transformed.reshape(elements, *w.shape[:2]), nr)
