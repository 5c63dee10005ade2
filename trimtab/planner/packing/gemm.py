"""Panels for indirect GEMM (`GemmArgs`): nr output channels side by side, depth outside.

All results are flat and of the operand's type; the last panel of every group is filled up with
zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def pack_groups(w: Array, nr: int) -> Array:
    """w: [group, columns, depth] -> [group][panel][depth][nr]."""
    groups, columns, depth = w.shape
    panels = -(-columns // nr)
    padded = np.zeros((groups, panels * nr, depth), w.dtype)
    padded[:, :columns] = w
    return padded.reshape(groups, panels, nr, depth).transpose(0, 1, 3, 2).reshape(-1)


def pack_conv(w: Array, groups: int, nr: int) -> Array:
    """w: [c_out, c_in / groups, kh, kw] -> [group][panel][kh][kw][c_in / groups][nr]."""
    columns = w.shape[0] // groups
    return pack_groups(w.transpose(0, 2, 3, 1).reshape(groups, columns, -1), nr)


def pack_matrix(w: Array, nr: int) -> Array:
    """w: [n, k] -> [panel][k][nr]."""
    return pack_groups(w[np.newaxis], nr)


def taps_of_phase(phase: int, kernel: int, stride: int, dilation: int, pad: int) -> list[int]:
    """Taps of one axis that reach the outputs at phase + stride * j of a transposed convolution."""
    return [t for t in range(kernel) if (phase + pad - t * dilation) % stride == 0]


def taps_of_largest_phase(
    window: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int]
) -> int:
    """The most taps that reach the outputs of one phase."""
    most = [
        max(
            len(taps_of_phase(p, window[axis], strides[axis], dilations[axis], pads[axis]))
            for p in range(strides[axis])
        )
        for axis in (0, 1)
    ]
    return most[0] * most[1]


def pack_conv_transpose(
    w: Array,
    groups: int,
    nr: int,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
) -> Array:
    """w: [c_in, c_out / groups, kh, kw] -> for every output phase, rows before columns, the
    panels of the convolution that its taps make: [group][panel][tap][c_in / groups][nr].
    """
    c_in, columns, kh, kw = w.shape
    # [group][column][kh][kw][c_in / groups]
    w = w.reshape(groups, c_in // groups, columns, kh, kw).transpose(0, 2, 3, 4, 1)
    pieces = []
    for py in range(strides[0]):
        rows = taps_of_phase(py, kh, strides[0], dilations[0], pads[0])
        for px in range(strides[1]):
            cols = taps_of_phase(px, kw, strides[1], dilations[1], pads[1])
            taps = w[:, :, rows][:, :, :, cols]
            pieces.append(pack_groups(taps.reshape(groups, columns, -1), nr))
    return np.concatenate(pieces)


def pack_bias(bias: Array, groups: int, nr: int) -> Array:
    """bias: [c_out] -> [group][columns padded to nr]."""
    return pack_groups(bias.reshape(groups, -1, 1), nr)
