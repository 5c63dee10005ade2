"""Weights of Winograd convolution F(m x m, r x r) (Lavin & Gray 2016), transformed ahead of time.

An output tile of m x m pixels is A^T [(G g G^T) * (B^T d B)] A for weights g and inputs d, where *
goes element by element. The matrices are Toom-Cook's at the n = m + r - 1 points below. B^T and A^T
are in kernels/generic/winograd.h: a row can be scaled only here and there together. Points of small
size with small inverses keep rounding errors small (Barabasz et al. 2020).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from trimtab.program import Op, Program

FloatArray = NDArray[np.float32]

_HALF = Fraction(1, 2)
# n -> the finite points, and what the row of each is scaled by so that B^T is as it is there.
_POINTS: dict[int, tuple[tuple[Fraction | int, Fraction | int], ...]] = {
    4: ((0, 1), (1, _HALF), (-1, _HALF)),
    5: ((0, _HALF), (1, -_HALF), (-1, Fraction(-1, 6)), (2, Fraction(1, 6))),
    6: (
        (0, Fraction(1, 4)),
        (1, Fraction(-1, 6)),
        (-1, Fraction(-1, 6)),
        (2, Fraction(1, 24)),
        (-2, Fraction(1, 24)),
    ),
    8: (
        (0, 1),
        (1, Fraction(-2, 9)),
        (-1, Fraction(-2, 9)),
        (2, Fraction(1, 90)),
        (-2, Fraction(1, 90)),
        (_HALF, Fraction(2, 90)),
        (-_HALF, Fraction(2, 90)),
    ),
}


MIN_CHANNELS = 16  # kernel_api.h kMinWinogradChannels


def taps(kernel: int, stride: int) -> int:
    """r: the squares of stride x stride pixels that a kernel covers along an axis."""
    return -(-kernel // stride)


def tile_of(program: Program, op: Op) -> tuple[int, int]:
    """(m, n) of a conv_winograd: m x m outputs of a tile come from n x n inputs."""
    kernel, stride = program.vars[op.inputs[1]].shape[2], op.attributes["strides"][0]
    tile = int(op.attributes["tile"])
    return tile, tile + taps(kernel, stride) - 1


def input_channels(c_in: int, stride: int) -> int:
    """Channels that are transformed. Those of squares are gathered, and fill up vectors."""
    channels = stride**2 * c_in
    return -(-channels // MIN_CHANNELS) * MIN_CHANNELS if stride > 1 else channels


def weight_transform(size: int, taps: int) -> NDArray[np.float64]:
    """G: float64[size, taps]; a row is (1, p, p^2, ...) at a point p, scaled, the last one at
    infinity.
    """
    rows = [[scale * Fraction(p) ** i for i in range(taps)] for p, scale in _POINTS[size]]
    return np.array([*rows, [0] * (taps - 1) + [1]], np.float64)


def space_to_depth(w: FloatArray, stride: int) -> FloatArray:
    """w: float32[c_out, c_in, k, k] of a convolution with strides -> [c_out, stride^2 * c_in, r, r]
    of the same one over squares of pixels; a square's channels are [row][column][c_in].
    """
    c_out, c_in, k, _ = w.shape
    r = taps(k, stride)
    padded = np.zeros((c_out, c_in, r * stride, r * stride), np.float32)
    padded[:, :, :k, :k] = w
    squares = padded.reshape(c_out, c_in, r, stride, r, stride).transpose(0, 3, 5, 1, 2, 4)
    return squares.reshape(c_out, -1, r, r)


def pack(w: FloatArray, tile: int, stride: int, nr: int) -> FloatArray:
    """w: float32[c_out, c_in, k, k] -> [n^2][panel][stride^2 * c_in][nr]."""
    w = space_to_depth(w, stride)
    c_out, c_in, r, _ = w.shape
    size = tile + r - 1
    g = weight_transform(size, r)
    packed = np.zeros((size**2, -(-c_out // nr), c_in, nr), np.float32)
    # A panel at a time: in float64 all of them take twice the memory of the result.
    for panel in range(packed.shape[1]):
        some = w[panel * nr : (panel + 1) * nr].astype(np.float64)
        transformed = np.einsum("ai,ocij,bj->abco", g, some, g, optimize=True)
        packed[:, panel, :, : len(some)] = transformed.reshape(size**2, c_in, -1)
    return packed.reshape(-1)
