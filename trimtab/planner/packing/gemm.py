"""Weight panels for indirect GEMM (`GemmArgs`): nr output channels side by side, depth outside.

All results are flat arrays of the operand's dtype. In packed form the last panel of every group is
padded with zeros; in stored form it has fewer columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from trimtab.engine import engine
from trimtab.planner.packing import Array, Form, Preparation


def pack_groups(w: Array, nr: int) -> Array:
    """w: [group, columns, depth] -> [group][panel][depth][nr]."""
    groups, columns, depth = w.shape
    return _panels(w.reshape(groups * columns, depth), groups, nr, padded=True)


def store_conv(w: Array, groups: int, nr: int) -> Array:
    """w: [c_out, c_in / groups, kh, kw], or a matrix [n, k] -> [group][panel][kh][kw]
    [c_in / groups][columns of the panel]: nr columns, and the remaining ones in the last panel.
    """
    return _panels(w, groups, nr, padded=False)


def store_groups(w: Array, nr: int) -> Array:
    """w: [group, columns, depth] -> [group][panel][depth][columns of the panel]."""
    groups, columns, depth = w.shape
    return _panels(w.reshape(groups * columns, depth), groups, nr, padded=False)


def _panels(w: Array, groups: int, nr: int, *, padded: bool) -> Array:
    """w: [group * columns, channels, taps...] -> flat [group][panel][tap][channel][column]."""
    panels: Array = engine().store_panels(np.ascontiguousarray(w), groups, nr, padded)
    return panels


def _by_group(w: Array, groups: int) -> Array:
    """w: [c_out, c_in / groups, kh, kw], or a matrix [n, k] -> [group, columns, depth]."""
    taps_first = np.moveaxis(w, 1, -1)
    return taps_first.reshape(groups, w.shape[0] // groups, math.prod(w.shape[1:]))


def pack_conv(w: Array, groups: int, nr: int) -> Array:
    """w: [c_out, c_in / groups, kh, kw] -> [group][panel][kh][kw][c_in / groups][nr]; a matrix
    [n, k] -> [panel][k][nr].
    """
    return _panels(w, groups, nr, padded=True)


def panels(groups: int, nr: int) -> Form:
    """The stored form of the weights of convolutions and GEMMs: that of `pack_conv` without
    padding. All float algorithms share it.
    """
    return Form(
        ("panels", groups, nr),
        lambda w: store_conv(w, groups, nr),
        sizes=lambda shape: panel_sizes(groups, shape[0] // groups, [math.prod(shape[1:])], nr),
    )


def panel_sizes(groups: int, columns: int, depths: Sequence[int], nr: int) -> list[int]:
    """The elements of each stored panel: [depth][group][panel]."""
    widths = [min(nr, columns - column) for column in range(0, columns, nr)]
    return [depth * width for depth in depths for _ in range(groups) for width in widths]


def at_load(
    stored: Form,
    groups: int,
    columns: int,
    depths: Sequence[int],
    nr: int,
    axis: int | None = None,
) -> Preparation:
    """How the engine pads panels of `groups` x `columns` columns; `depths` as in the operator
    pack_panels. `axis`: the dimension of the weights that has all columns, if one has.
    """
    attributes = {"groups": groups, "columns": columns, "depths": tuple(depths), "panel": nr}
    ready = columns % nr == 0
    return Preparation(stored, "pack_panels", attributes, ready=ready, axis=axis)


def pack_merged(w: Array, groups: int, nr: int, merged: int) -> Array:
    """w: [c_out, c_in / groups, kh, kw] -> [group / merged][kh][kw][merged][c_in / groups][nr]: the
    columns of `merged` groups side by side, 0 in the rows of another group.
    """
    columns, depth = len(w) // groups, w.shape[1]
    # [panel][group of the panel][column][channel][taps...]
    by_group = w.reshape(groups // merged, merged, columns, *w.shape[1:])
    diagonal = np.zeros((groups // merged, merged, columns, merged, *w.shape[1:]), w.dtype)
    for i in range(merged):
        diagonal[:, i, :, i] = by_group[:, i]
    return pack_conv(diagonal.reshape(len(w), merged * depth, *w.shape[2:]), groups // merged, nr)


def merged_at_load(stored: Form, groups: int, merged: int, channels: int, nr: int) -> Preparation:
    """How the engine does the same with weights in panels of one group."""
    attributes = {"groups": groups, "merged": merged, "channels": channels, "panel": nr}
    return Preparation(stored, "pack_merged", attributes, axis=0)


def taps_of_phase(phase: int, kernel: int, stride: int, dilation: int, pad: int) -> list[int]:
    """Taps of one axis that contribute to the outputs phase + stride * j of a transposed
    convolution.
    """
    return [t for t in range(kernel) if (phase + pad - t * dilation) % stride == 0]


def taps_of_largest_phase(
    window: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int]
) -> int:
    """The maximum number of taps that contribute to one output phase."""
    counts = [
        max(
            len(taps_of_phase(p, window[axis], strides[axis], dilations[axis], pads[axis]))
            for p in range(strides[axis])
        )
        for axis in (0, 1)
    ]
    return counts[0] * counts[1]


def pack_conv_transpose(
    w: Array,
    groups: int,
    nr: int,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
) -> Array:
    """w: [c_in, c_out / groups, kh, kw] -> for every output phase, rows before columns, the
    panels of the convolution with its taps: [group][panel][tap][c_in / groups][nr].
    """
    return np.concatenate(
        [pack_groups(phase, nr) for phase in phases(w, groups, strides, dilations, pads)]
    )


def phases(
    w: Array,
    groups: int,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
) -> Iterator[Array]:
    """The weights of every phase of a transposed convolution, as [group, columns, depth]."""
    c_in, columns, kh, kw = w.shape
    # [group][column][kh][kw][c_in / groups]
    w = w.reshape(groups, c_in // groups, columns, kh, kw).transpose(0, 2, 3, 4, 1)
    for py in range(strides[0]):
        rows = taps_of_phase(py, kh, strides[0], dilations[0], pads[0])
        for px in range(strides[1]):
            cols = taps_of_phase(px, kw, strides[1], dilations[1], pads[1])
            taps = w[:, :, rows][:, :, :, cols]
            depth = len(rows) * len(cols) * c_in // groups
            yield taps.reshape(groups, columns, depth)


def phase_panels(
    shape: Sequence[int],
    groups: int,
    nr: int,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
) -> tuple[Form, tuple[int, ...]]:
    """The stored form of the weights of a transposed convolution, that of `pack_conv_transpose`
    without padding, and the depth of each phase. shape: [c_in, c_out / groups, kh, kw].
    """

    def by_phase(w: Array) -> list[Array]:
        return [*phases(w, groups, strides, dilations, pads)]

    depths = tuple(phase.shape[2] for phase in by_phase(np.empty(shape, np.bool_)))
    key = ("phases", groups, nr, strides, dilations, pads)
    form = Form(
        key,
        lambda w: np.concatenate([store_groups(p, nr) for p in by_phase(w)]),
        sizes=lambda _: panel_sizes(groups, shape[1], depths, nr),
    )
    return form, depths


def pack_bias(bias: Array, groups: int, nr: int) -> Array:
    """bias: [c_out] -> [group][columns padded to nr]."""
    return pack_groups(bias.reshape(groups, -1, 1), nr)


def pack_steps(w: Array, groups: int, nr: int, kr: int) -> Array:
    """w: [c_out, c_in / groups, kh, kw] -> [group][panel][depth / kr][nr][kr], padded with zeros to
    whole panels and, after the last tap, to whole depth steps.
    """
    by_group = _by_group(w, groups)
    columns, depth = by_group.shape[1:]
    panels, steps = -(-columns // nr), -(-depth // kr)
    padded = np.zeros((groups, panels * nr, steps * kr), w.dtype)
    padded[:, :columns, :depth] = by_group
    return padded.reshape(groups, panels, nr, steps, kr).transpose(0, 1, 3, 2, 4).reshape(-1)


def pack_pixels(w: Array, pixels: int, padding: int) -> Array:
    """w: [c_out, c_in, kh, kw] -> block-diagonal weights for packed neighboring pixels, [pixels *
    c_out, pixels * (depth + padding), 1, 1]: 0 between different pixels and in the `padding`
    elements after each row.
    """
    if pixels == 1:
        return w
    row = np.pad(np.moveaxis(w, 1, -1).reshape(w.shape[0], -1), ((0, 0), (0, padding)))
    return np.kron(np.eye(pixels, dtype=w.dtype), row)[:, :, None, None]
