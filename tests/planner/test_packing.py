"""Packed weights, read as kernel_api.h describes them, give the operator's results in numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trimtab.planner.algorithms import depthwise, strassen, winograd
from trimtab.planner.packing import gemm


def numbers(*shape: int) -> NDArray[np.float32]:
    """Every element another number, so that no two can be mixed up."""
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def panel_element(packed: NDArray[np.float32], depth: int, nr: int, row: int, column: int) -> float:
    """Weight of `column` at `row` of the depth: w[j / nr][row][j % nr] of GemmArgs."""
    panel = column // nr * depth * nr
    return float(packed[panel + row * nr + column % nr])


@pytest.mark.parametrize(("groups", "nr"), [(1, 8), (1, 5), (2, 8), (3, 4)])
def test_a_convolution_is_packed_by_group_panel_tap_and_channel(groups: int, nr: int) -> None:
    c_out, c_in, kh, kw = 6 * groups, 3, 2, 3
    w = numbers(c_out, c_in, kh, kw)
    packed = gemm.pack_conv(w, groups, nr)
    per_group = c_out // groups
    depth, padded = kh * kw * c_in, -(-per_group // nr) * nr
    assert packed.shape == (groups * padded * depth,)
    for o, i, y, x in itertools.product(range(c_out), range(c_in), range(kh), range(kw)):
        group, column = divmod(o, per_group)
        start = packed[group * padded * depth :]
        row = (y * kw + x) * c_in + i
        assert panel_element(start, depth, nr, row, column) == w[o, i, y, x]


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32])
def test_packed_weights_keep_their_dtype(dtype: type[np.generic]) -> None:
    w: NDArray[Any] = numbers(4, 2, 3, 3).astype(dtype)
    packed = [gemm.pack_conv(w, 1, 8), depthwise.pack(w[:, :1], 8)]
    if np.issubdtype(dtype, np.floating):  # transforms make fractions
        packed += [winograd.pack(w, 4, 1, 8), strassen.pack(w[:, :, :1, :1], 2)]
    assert {array.dtype for array in packed} == {np.dtype(dtype)}


def test_the_last_panel_is_padded_with_zeros() -> None:
    packed = gemm.pack_conv(numbers(5, 3), 1, 4)
    assert packed.shape == (8 * 3,)
    assert np.count_nonzero(packed) == 5 * 3


def test_a_matrix_is_packed_as_a_convolution_of_one_tap() -> None:
    w = numbers(7, 5)
    assert np.array_equal(gemm.pack_conv(w, 1, 4), gemm.pack_conv(w[:, :, None, None], 1, 4))


def test_a_bias_is_padded_group_by_group() -> None:
    packed = gemm.pack_bias(numbers(6), 2, 4)
    assert packed.tolist() == [1, 2, 3, 0, 4, 5, 6, 0]


def test_depthwise_weights_are_packed_tile_by_tile_and_row_by_row() -> None:
    w = numbers(6, 1, 2, 3)
    packed = depthwise.pack(w, 4).reshape(2, 2, 3, 4)
    for tile, begin in enumerate((0, 2)):  # the last tile ends with the last channel
        for lane, y, x in itertools.product(range(4), range(2), range(3)):
            assert packed[tile, y, x, lane] == w[begin + lane, 0, y, x]


def test_few_depthwise_channels_are_padded_to_a_tile() -> None:
    packed = depthwise.pack(numbers(3, 1, 1, 2), 4)
    assert packed.tolist() == [1, 3, 5, 0, 2, 4, 6, 0]


@given(
    kernel=st.integers(1, 5),
    stride=st.integers(1, 4),
    dilation=st.integers(1, 3),
    pad=st.integers(0, 4),
)
def test_every_tap_belongs_to_exactly_one_phase(
    kernel: int, stride: int, dilation: int, pad: int
) -> None:
    taps = [gemm.taps_of_phase(p, kernel, stride, dilation, pad) for p in range(stride)]
    assert sorted(itertools.chain(*taps)) == list(range(kernel))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_phases_of_a_transposed_convolution_add_up_to_scattering(data: st.DataObject) -> None:
    groups, c_in, columns = data.draw(st.sampled_from([(1, 2, 3), (2, 4, 1), (3, 3, 5)]))
    kh, kw, sy, sx = (data.draw(st.integers(1, 3)) for _ in range(4))
    dy, dx, top, left = (data.draw(st.integers(1, 2)) for _ in range(4))
    h, width, nr = 3, 4, 4
    x, w = numbers(c_in, h, width), numbers(c_in, columns, kh, kw)
    out_h, out_w = sy * (h - 1) + (kh - 1) * dy + 1, sx * (width - 1) + (kw - 1) * dx + 1
    expected = np.zeros((groups * columns, out_h, out_w))
    for i, o, ky, kx in itertools.product(range(c_in), range(columns), range(kh), range(kw)):
        channel = i // (c_in // groups) * columns + o
        y_slice = slice(ky * dy, ky * dy + sy * (h - 1) + 1, sy)
        x_slice = slice(kx * dx, kx * dx + sx * (width - 1) + 1, sx)
        expected[channel, y_slice, x_slice] += np.float64(x[i]) * w[i, o, ky, kx]

    packed = gemm.pack_conv_transpose(w, groups, nr, (sy, sx), (dy, dx), (top, left, 0, 0))
    result = np.zeros_like(expected)
    k, padded, at = c_in // groups, -(-columns // nr) * nr, 0
    for py, px in itertools.product(range(sy), range(sx)):
        rows = gemm.taps_of_phase(py, kh, sy, dy, top)
        cols = gemm.taps_of_phase(px, kw, sx, dx, left)
        depth = len(rows) * len(cols) * k
        for group, o in itertools.product(range(groups), range(columns)):
            panels = packed[at + group * padded * depth :]
            for t, (ky, kx) in enumerate(itertools.product(rows, cols)):
                assert ((ky * dy - top) % sy, (kx * dx - left) % sx) == (py, px)
                y_slice = slice(ky * dy, ky * dy + sy * (h - 1) + 1, sy)
                x_slice = slice(kx * dx, kx * dx + sx * (width - 1) + 1, sx)
                for i in range(k):
                    weight = panel_element(panels, depth, nr, t * k + i, o)
                    result[group * columns + o, y_slice, x_slice] += x[group * k + i] * weight
        at += groups * padded * depth
    assert at == packed.size
    assert np.array_equal(result, expected)


@pytest.mark.parametrize(("taps", "tile"), [(3, 2), (3, 3), (3, 4), (3, 6), (4, 5), (5, 4)])
def test_winograd_weights_are_products_packed_element_by_element(taps: int, tile: int) -> None:
    w, nr = numbers(5, 3, taps, taps), 4
    size = tile + taps - 1
    packed = winograd.pack(w, tile, 1, nr).reshape(size**2, 2, 3, nr)
    g = winograd.weight_transform(size, taps)
    for o, i in itertools.product(range(5), range(3)):
        weights = w[o, i].astype(np.float64)
        expected = (g @ weights @ g.T).reshape(-1)
        # The values are summed in float64, in an unspecified order, and then rounded to float32.
        terms = (abs(g) @ abs(weights) @ abs(g).T).reshape(-1)
        bound = np.finfo(np.float32).eps / 2 * abs(expected) + 2**-48 * terms
        assert (abs(packed[:, o // nr, i, o % nr] - expected) <= bound).all()
    assert not packed[:, 1, :, 1:].any()


def test_weights_of_a_strided_convolution_follow_space_to_depth() -> None:
    w = numbers(5, 3, 7, 7)
    squares = winograd.space_to_depth(w, 2)
    assert squares.shape == (5, 12, 4, 4)
    for i, j, c in itertools.product(range(8), range(8), range(3)):
        expected = w[:, c, i, j] if max(i, j) < 7 else np.zeros(5)
        channel = (i % 2 * 2 + j % 2) * 3 + c
        np.testing.assert_array_equal(squares[:, channel, i // 2, j // 2], expected)


def test_strassen_weights_are_packed_one_operand_after_the_other() -> None:
    w, nr = numbers(8, 6, 1, 1), 4
    packed = strassen.pack(w, nr).reshape(7, 1, 3, nr)
    sides = strassen.right_hand_operands(w[:, :, 0, 0].astype(np.float64))
    np.testing.assert_array_equal(packed[:, 0], sides.transpose(0, 2, 1).astype(np.float32))
    np.testing.assert_array_equal(packed[0, 0], w[:4, :3, 0, 0].T)
    np.testing.assert_array_equal(packed[5, 0], w[4:, 3:, 0, 0].T)


def test_remaining_strassen_columns_are_packed_last() -> None:
    w, nr = numbers(11, 6, 1, 1), 4
    packed = strassen.pack(w, nr)
    np.testing.assert_array_equal(packed[: -6 * nr], strassen.pack(w[:8], nr))
    left = packed[-6 * nr :].reshape(6, nr)
    np.testing.assert_array_equal(left[:, :3], w[8:, :, 0, 0].T)
    assert not left[:, 3:].any()
