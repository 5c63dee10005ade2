"""Removal of operators that compute the identity."""

from __future__ import annotations

import numpy as np
import pytest

from tests.small_programs import Net, after, types

NO_OPS: dict[str, dict[str, object]] = {
    "average_pool": {"kernel_shape": [1, 1]},
    "cast": {"to": "f32"},
    "channel_shuffle": {"group": 1},
    "clip": {},
    "concat": {"axis": 1},
    "depth_to_space": {"block_size": 1},
    "expand": {"shape": [1, 1, 6, 5]},
    "max_pool": {"kernel_shape": [1, 1]},
    "pad": {"pads": [0] * 8},
    "reduce_max": {"axes": [0]},
    "reshape": {"shape": [1, 4, 6, 5]},
    "resize": {"sizes": [6, 5], "mode": "linear"},
    "slice": {"starts": [0], "ends": [9], "axes": [2], "steps": [1]},
    "space_to_depth": {"block_size": 1},
    "split": {"axis": 1, "sizes": [4]},
    "tile": {"repeats": [1, 1, 1, 1]},
    "transpose": {"permutation": [0, 1, 2, 3]},
}


@pytest.mark.parametrize("kind", NO_OPS)
def test_an_operator_that_computes_the_identity_is_removed(kind: str) -> None:
    net = Net(x=(1, 4, 6, 5))
    program = net.finish(net("abs", net(kind, net("neg", "x"), **NO_OPS[kind])))
    assert types(after(program, "remove_no_ops")) == ["neg", "abs"]


@pytest.mark.parametrize(
    ("kind", "neutral"), [("add", 0), ("sub", 0), ("mul", 1), ("div", 1), ("pow", 1)]
)
def test_arithmetic_with_the_neutral_element_is_removed(kind: str, neutral: float) -> None:
    net = Net(x=(1, 4, 6, 5))
    y = net(kind, net("neg", "x"), np.full((1, 4, 1, 1), neutral))
    assert types(after(net.finish(net("abs", y)), "remove_no_ops")) == ["neg", "abs"]


def test_a_broadcasting_addition_of_zeros_remains() -> None:
    net = Net(x=(1, 4))
    program = net.finish(net("add", net("neg", "x"), np.zeros((3, 4), np.float32)))
    program = after(program, "remove_no_ops")
    assert types(program) == ["neg", "add"]


def test_sizes_that_depend_on_data_may_be_others_in_a_run() -> None:
    net = Net(x=(2, 2))
    turned = net("slice", net("shape", "x"), starts=[-1], ends=[-9], axes=[0], steps=[-1])
    y = net("reshape", net("neg", "x"), turned, shape=(2, 2))
    program = after(net.finish(net("abs", y)), "remove_no_ops")
    assert types(program)[-3:] == ["neg", "reshape", "abs"]


def test_a_strided_slice_and_a_shifting_resize_remain() -> None:
    net = Net(x=(1, 4, 6, 5))
    y = net("slice", "x", starts=[-1], ends=[-99], axes=[2], steps=[-1])
    y = net("resize", y, sizes=[6, 5], coordinate_mode="tf_half_pixel_for_nn", nearest_mode="ceil")
    assert types(after(net.finish(y), "remove_no_ops")) == ["slice", "resize"]


def test_reshapes_and_transposes_that_cancel_are_removed() -> None:
    net = Net(x=(2, 3, 4))
    y = net("reshape", net("reshape", net("neg", "x"), shape=[6, 4]), shape=[2, 3, 4])
    y = net("transpose", net("transpose", y, permutation=[2, 0, 1]), permutation=[1, 2, 0])
    assert types(after(net.finish(net("abs", y)), "remove_no_ops")) == ["neg", "abs"]


def test_a_transpose_of_unit_dimensions_becomes_a_reshape() -> None:
    net = Net(x=(1, 7, 1, 1))
    program = after(net.finish(net("transpose", "x", permutation=[0, 2, 3, 1])), "remove_no_ops")
    assert types(program) == ["reshape"]
