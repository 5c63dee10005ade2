"""Weights of 1x1 convolution by Strassen's algorithm in Winograd's form (Higham 2002, section
23.1): the right-hand sides of its seven products, added up ahead of time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.planner.packing.gemm import pack_groups, pack_matrix

FloatArray = NDArray[np.float32]


def half_columns(columns: int, nr: int) -> int:
    """Of `columns`, those of a half: whole panels. What is left of them is multiplied directly."""
    return columns // (2 * nr) * nr


def right_hand_sides(w: NDArray[np.float64]) -> NDArray[np.float64]:
    """w: float64[n, k], the transpose of B -> float64[7, n / 2, k / 2]: B11, T2, T3, T1, -T4, B22,
    B21, in the order of runtime/ops/conv_strassen.cpp, each transposed.
    """
    n, k = (size // 2 for size in w.shape)
    b11, b21, b12, b22 = w[:n, :k], w[:n, k:], w[n:, :k], w[n:, k:]
    t1 = b12 - b11
    t2 = b22 - t1
    return np.stack([b11, t2, b22 - b12, t1, b21 - t2, b22, b21])


def pack(w: FloatArray, nr: int) -> FloatArray:
    """w: float32[c_out, c_in, 1, 1] -> [7][panel][c_in / 2][nr], then [panel][c_in][nr] of what is
    left of c_out.
    """
    matrix = w[:, :, 0, 0]
    columns = 2 * half_columns(len(matrix), nr)
    sides = right_hand_sides(matrix[:columns].astype(np.float64))
    return np.concatenate([pack_groups(sides, nr), pack_matrix(matrix[columns:], nr)])
