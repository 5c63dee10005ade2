"""Reference implementations, in numpy, of the operators that pack weights.

Weights are stored in panels of columns without padding, and packed into panels that are padded with
zeros. A column is an output channel; its depth is in the order of the operator's schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ops import winograd

Array = NDArray[Any]


def stored(columns: Array, panel: int) -> Array:
    """columns: [depth, column] -> consecutive panels; the last one may be narrower."""
    cuts = range(panel, columns.shape[1], panel)
    return np.concatenate([part.ravel() for part in np.split(columns, cuts, axis=1)])


def filled(columns: Array, panel: int) -> Array:
    """columns: [depth, column] -> [panel, depth, panel columns], padded with zeros."""
    wide = np.pad(columns, ((0, 0), (0, -columns.shape[1] % panel)))
    return wide.reshape(len(columns), -1, panel).transpose(1, 0, 2)


def panels(blocks: Sequence[Array], panel: int) -> tuple[Array, Array]:
    """(stored, packed) weights of a GEMM kernel; a block: [group, depth, column]."""
    groups = [columns for block in blocks for columns in block]
    weights = np.concatenate([stored(columns, panel) for columns in groups])
    return weights, np.concatenate([filled(columns, panel).ravel() for columns in groups])


def merged(w: Array, panel: int, together: int) -> tuple[Array, Array]:
    """w: [group, tap, channel, column] -> (stored, packed): rows of `together` groups, tap by tap,
    with the columns of each group at its own place.
    """
    groups, taps, channels, columns = w.shape
    packed = np.zeros((groups // together, taps, together, channels, panel), w.dtype)
    for group in range(groups):
        place = group % together
        own = packed[group // together, :, place]
        own[:, :, place * columns : (place + 1) * columns] = w[group]
    return w.ravel(), packed.ravel()


def strassen(w: Array, panel: int) -> tuple[Array, Array]:
    """w: [c_out, c] -> (stored, packed) for one level of Strassen's algorithm in Winograd's form.

    A quadrant is half of the depth by half of the columns that fill pairs of whole panels. The
    right-hand sides and their order are those of Higham 2002, (23.6). The remaining columns follow.
    """
    columns = w.T
    depth, half = len(columns) // 2, len(w) // (2 * panel) * panel
    whole, rest = columns[:, : 2 * half], columns[:, 2 * half :]
    b11, b12 = whole[:depth, :half], whole[:depth, half:]
    b21, b22 = whole[depth:, :half], whole[depth:, half:]
    t1 = b12 - b11
    t2 = b22 - t1
    sides = [b11, t2, b22 - b12, t1, b21 - t2, b22, b21] if half else []
    packed = [filled(side, panel).ravel() for side in sides]
    if rest.shape[1]:
        packed.append(filled(rest, panel).ravel())
    return stored(columns, panel), np.concatenate(packed)


def winograd_weights(w: Array, tile: int, stride: int, panel: int) -> tuple[Array, Array]:
    """w: [c_out, c, k, k] -> (stored, packed) in tiles: G g G^T, phase by phase."""
    c_out, channels, k, _ = w.shape
    taps = -(-k // stride)
    parts = winograd.phases(w, stride)  # [c_out, square * c, taps, taps]
    g = weight_transform(tile, taps)
    packed = np.einsum("ai,ocij,bj->abco", g, parts.astype(np.float64), g)
    size = tile + taps - 1
    packed = np.pad(packed, ((0, 0), (0, 0), (0, 0), (0, -c_out % panel)))
    packed = packed.reshape(size * size, stride * stride * channels, -1, panel).transpose(
        0, 2, 1, 3
    )
    weights = stored(w.transpose(2, 3, 1, 0).reshape(-1, c_out), panel)
    return weights, packed.ravel().astype(np.float32)


def weight_transform(tile: int, taps: int) -> Array:
    """G [n, taps], uniquely determined by A^T and B^T: A^T ((G g) * (B^T d)) is a correlation if
    the sum over p of A^T[i, p] G[p, t] B^T[p, j] is 1 where j = i + t, else 0.
    """
    a, b, _ = winograd.matrices(tile, taps)
    size = tile + taps - 1
    equations = np.einsum("ip,pj->ijp", a, b).reshape(-1, size)
    i, j = np.indices((tile, size)).reshape(2, -1)
    expected = (j[:, None] == i[:, None] + np.arange(taps)).astype(np.float64)
    g, _, rank, _ = np.linalg.lstsq(equations, expected, rcond=None)
    assert rank == size
    assert np.abs(equations @ g - expected).max() < 1e-9
    return np.asarray(g)
