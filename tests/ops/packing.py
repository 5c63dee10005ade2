"""What the operators that prepare weights make, from their definitions alone, in numpy.

Weights are stored in panels of columns without padding, and prepared in panels that are filled up
with zeros. A column is an output channel; what is under it, its depth, is in the order that the
operator's schema gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.ops import winograd

Array = NDArray[Any]


def stored(columns: Array, panel: int) -> Array:
    """columns: [depth, column] -> panels one after the other, the last one as narrow as it is."""
    cuts = range(panel, columns.shape[1], panel)
    return np.concatenate([part.ravel() for part in np.split(columns, cuts, axis=1)])


def filled(columns: Array, panel: int) -> Array:
    """columns: [depth, column] -> [panel, depth, panel columns], filled up with zeros."""
    wide = np.pad(columns, ((0, 0), (0, -columns.shape[1] % panel)))
    return wide.reshape(len(columns), -1, panel).transpose(1, 0, 2)


def panels(blocks: Sequence[Array], panel: int) -> tuple[Array, Array]:
    """(stored, prepared) weights of a matrix kernel; a block: [group, depth, column]."""
    groups = [columns for block in blocks for columns in block]
    given = np.concatenate([stored(columns, panel) for columns in groups])
    return given, np.concatenate([filled(columns, panel).ravel() for columns in groups])


def strassen(w: Array, panel: int) -> tuple[Array, Array]:
    """w: [c_out, c] -> (stored, prepared) for one level of Strassen's algorithm in Winograd's form.

    Quadrants are halves of the depth by halves of as many columns as fill whole panels twice; the
    right-hand sides and their order are those of Higham 2002, (23.6). Columns that are left follow.
    """
    columns = w.T
    depth, half = len(columns) // 2, len(w) // (2 * panel) * panel
    whole, rest = columns[:, : 2 * half], columns[:, 2 * half :]
    b11, b12 = whole[:depth, :half], whole[:depth, half:]
    b21, b22 = whole[depth:, :half], whole[depth:, half:]
    t1 = b12 - b11
    t2 = b22 - t1
    sides = [b11, t2, b22 - b12, t1, b21 - t2, b22, b21] if half else []
    made = [filled(side, panel).ravel() for side in sides]
    if rest.shape[1]:
        made.append(filled(rest, panel).ravel())
    return stored(columns, panel), np.concatenate(made)


def winograd_weights(w: Array, tile: int, stride: int, panel: int) -> tuple[Array, Array]:
    """w: [c_out, c, k, k] -> (stored, prepared) in tiles: G g G^T, phase by phase."""
    c_out, channels, k, _ = w.shape
    taps = -(-k // stride)
    parts = winograd.phases(w, stride)  # [c_out, square * c, taps, taps]
    g = weight_transform(tile, taps)
    made = np.einsum("ai,ocij,bj->abco", g, parts.astype(np.float64), g)
    size = tile + taps - 1
    made = np.pad(made, ((0, 0), (0, 0), (0, 0), (0, -c_out % panel)))
    made = made.reshape(size * size, stride * stride * channels, -1, panel).transpose(0, 2, 1, 3)
    given = stored(w.transpose(2, 3, 1, 0).reshape(-1, c_out), panel)
    return given, made.ravel().astype(np.float32)


def weight_transform(tile: int, taps: int) -> Array:
    """G [n, taps], the only one that A^T ((G g) * (B^T d)) is a correlation with: the sum over p of
    A^T[i, p] G[p, t] B^T[p, j] is 1 where j = i + t, else 0.
    """
    a, b, _ = winograd.matrices(tile, taps)
    size = tile + taps - 1
    equations = np.einsum("ip,pj->ijp", a, b).reshape(-1, size)
    i, j = np.indices((tile, size)).reshape(2, -1)
    wanted = (j[:, None] == i[:, None] + np.arange(taps)).astype(np.float64)
    g, _, rank, _ = np.linalg.lstsq(equations, wanted, rcond=None)
    assert rank == size
    assert np.abs(equations @ g - wanted).max() < 1e-9
    return np.asarray(g)
