"""Taps of convolutions that only meet padding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.small_programs import Net, after


def cut(
    x: tuple[int, ...], channels: int, kernel: int, **attributes: object
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Window and padding of a convolution after the pass, whose output has not changed."""
    net = Net(x=x)
    program = after(net.finish(net.conv("x", channels, kernel, **attributes)), "cut_dead_taps")
    (op,) = program.ops
    return program.vars[op.inputs[1]].shape[2:], op.attributes["pads"]


def test_a_dilation_beyond_the_image_leaves_the_center() -> None:
    same = {"dilations": (9, 9), "pads": (9, 9, 9, 9)}
    assert cut((1, 3, 7, 8), 5, 3, **same) == ((1, 1), (0, 0, 0, 0))


def test_each_side_is_cut_by_itself() -> None:
    wide = {"dilations": (2, 5), "pads": (2, 5, 2, 5)}
    assert cut((1, 3, 7, 5), 4, 3, **wide) == ((3, 1), (2, 0, 2, 0))
    upper = {"pads": (4, 0, 0, 0), "strides": (9, 1)}
    assert cut((2, 2, 6, 6), 3, 3, **upper) == ((3, 3), (4, 0, 0, 0))


def test_taps_that_meet_a_pixel_stay() -> None:
    same = {"dilations": (6, 6), "pads": (6, 6, 6, 6)}
    assert cut((1, 3, 7, 7), 5, 3, **same) == ((3, 3), (6, 6, 6, 6))


def test_groups_and_a_convolution_of_padding_alone() -> None:
    same = {"dilations": (9, 9), "pads": (9, 9, 9, 9), "group": 2}
    assert cut((1, 4, 5, 5), 6, 3, **same) == ((1, 1), (0, 0, 0, 0))
    strided = {"pads": (4, 4, 0, 0), "strides": (20, 20)}
    assert cut((1, 2, 3, 3), 3, 3, **strided) == ((3, 3), (4, 4, 0, 0))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_all_small_windows_keep_their_results(size: int) -> None:
    rng = np.random.default_rng(size)
    for kernel, stride, dilation in itertools.product((1, 2, 3, 5), (1, 2, 7), (1, 2, 6)):
        pads = tuple(int(p) for p in rng.integers(0, 2 * dilation * kernel, 4))
        if min(size + pads[i] + pads[i + 2] for i in (0, 1)) < dilation * (kernel - 1) + 1:
            continue
        steps = {"strides": (stride, stride), "dilations": (dilation, dilation)}
        cut((1, 2, size, size + 1), 3, kernel, pads=pads, **steps)
