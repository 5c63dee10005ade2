"""Passes that compute ahead of time or remove what computes nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.small_programs import Net, after, normal, types


def test_what_depends_on_constants_is_computed() -> None:
    net = Net(x=(2, 3))
    c = net("exp", net("add", normal(3), normal(2, 3)))
    program = after(
        net.finish(
            net(
                "mul",
                "x",
                net("transpose", net("transpose", c, permutation=[1, 0]), permutation=[1, 0]),
            )
        ),
        "fold_constants",
    )
    assert types(program) == ["mul"]
    assert len(program.vars) == 3


def test_a_constant_that_would_blow_up_the_file_is_not_computed() -> None:
    net = Net(x=(1, 300, 300))
    big = net("expand", normal(1, 1, 300), shape=[1, 300, 300])
    program = after(net.finish(net("add", "x", big)), "fold_constants")
    assert types(program) == ["expand", "add"]


def test_folding_ends_where_it_would_take_too_much_memory() -> None:
    net = Net(x=(1, 1024))
    a, b = net("neg", normal(1, 2**17)), net("neg", normal(1, 2**17))  # 512 KB each
    for _ in range(7):  # twice as many elements every time, and no result larger than its operands
        a, b = net("concat", a, b, axis=1), net("concat", b, a, axis=1)
    y = net("add", "x", net("slice", a, starts=[0], ends=[1024], axes=[1], steps=[1]))
    program = after(net.finish(y), "fold_constants")
    assert sum(var.bytes for var in program.constants()) <= 64 << 20
    assert "concat" in types(program)


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
def test_an_operator_that_changes_nothing_goes(kind: str) -> None:
    net = Net(x=(1, 4, 6, 5))
    program = net.finish(net("abs", net(kind, net("neg", "x"), **NO_OPS[kind])))
    assert types(after(program, "remove_no_ops")) == ["neg", "abs"]


@pytest.mark.parametrize(
    ("kind", "neutral"), [("add", 0), ("sub", 0), ("mul", 1), ("div", 1), ("pow", 1)]
)
def test_arithmetic_with_the_neutral_element_goes(kind: str, neutral: float) -> None:
    net = Net(x=(1, 4, 6, 5))
    y = net(kind, net("neg", "x"), np.full((1, 4, 1, 1), neutral))
    assert types(after(net.finish(net("abs", y)), "remove_no_ops")) == ["neg", "abs"]


def test_an_addition_of_zeros_that_broadcasts_stays() -> None:
    net = Net(x=(1, 4))
    program = net.finish(net("add", net("neg", "x"), np.zeros((3, 4), np.float32)))
    program = after(program, "remove_no_ops")
    assert types(program) == ["neg", "add"]


def test_a_strided_slice_and_a_shifting_resize_stay() -> None:
    net = Net(x=(1, 4, 6, 5))
    y = net("slice", "x", starts=[-1], ends=[-99], axes=[2], steps=[-1])
    y = net("resize", y, sizes=[6, 5], coordinate_mode="tf_half_pixel_for_nn", nearest_mode="ceil")
    assert types(after(net.finish(y), "remove_no_ops")) == ["slice", "resize"]


def test_reshapes_and_transposes_join_until_nothing_is_left() -> None:
    net = Net(x=(2, 3, 4))
    y = net("reshape", net("reshape", net("neg", "x"), shape=[6, 4]), shape=[2, 3, 4])
    y = net("transpose", net("transpose", y, permutation=[2, 0, 1]), permutation=[1, 2, 0])
    assert types(after(net.finish(net("abs", y)), "remove_no_ops")) == ["neg", "abs"]


def test_a_transpose_of_unit_dimensions_becomes_a_reshape() -> None:
    net = Net(x=(1, 7, 1, 1))
    program = after(net.finish(net("transpose", "x", permutation=[0, 2, 3, 1])), "remove_no_ops")
    assert types(program) == ["reshape"]


def batch_norm(net: Net, x: str, channels: int) -> str:
    """A batch normalization with random parameters."""
    positive = np.abs(normal(channels)) + np.float32(0.5)
    scale, bias, mean = (normal(channels) for _ in range(3))
    return net("batch_normalization", x, scale, bias, mean, positive)


@pytest.mark.parametrize("group", [1, 2, 8])
def test_batch_normalization_folds_into_a_convolution(group: int) -> None:
    net = Net(x=(1, 8, 5, 5))
    program = net.finish(batch_norm(net, net.conv("x", 8, 3, group=group), 8))
    assert types(after(program, "fold_batch_norm")) == ["conv"]


@pytest.mark.parametrize("group", [1, 2])
def test_batch_normalization_folds_into_a_transposed_convolution(group: int) -> None:
    net = Net(x=(1, 4, 5, 5))
    y = net("conv_transpose", "x", normal(4, 6 // group, 3, 3), group=group, strides=[2, 2])
    assert types(after(net.finish(batch_norm(net, y, 6)), "fold_batch_norm")) == ["conv_transpose"]


def test_batch_normalization_folds_into_a_matrix_product() -> None:
    net = Net(x=(3, 5))
    program = net.finish(batch_norm(net, net("gemm", "x", normal(7, 5)), 7))
    assert types(after(program, "fold_batch_norm")) == ["gemm"]


def test_batch_normalization_over_rows_does_not_fold_into_a_matrix_product() -> None:
    net = Net(x=(2, 7, 5))
    program = net.finish(batch_norm(net, net("gemm", "x", normal(7, 5)), 7))
    assert types(after(program, "fold_batch_norm")) == ["gemm", "batch_normalization"]


def test_batch_normalization_stays_when_the_convolution_is_read_elsewhere() -> None:
    net = Net(x=(1, 4, 5, 5))
    y = net.conv("x", 4)
    program = net.finish(net("mul", batch_norm(net, y, 4), y))
    assert types(after(program, "fold_batch_norm")) == ["conv", "batch_normalization", "mul"]


def test_weights_that_two_convolutions_share_are_scaled_for_one_only() -> None:
    net = Net(x=(1, 4, 5, 5))
    weights = net.program.block.add_constant(normal(4, 4, 1, 1))
    a, b = net("conv", "x", weights), net("conv", "x", weights)
    program = net.finish(net("add", batch_norm(net, a, 4), b))
    assert types(after(program, "fold_batch_norm")) == ["conv", "conv", "add"]


@pytest.mark.parametrize("type", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("shape", [(), (6, 1, 1), (1, 6, 1, 1)])
def test_arithmetic_per_channel_folds_into_a_convolution(type: str, shape: tuple[int, ...]) -> None:
    net = Net(x=(1, 3, 5, 5))
    program = net.finish(net(type, net.conv("x", 6, 3), normal(*shape)))
    assert types(after(program, "fold_affine")) == ["conv"]


def test_subtraction_from_a_constant_and_negation_fold() -> None:
    net = Net(x=(1, 3, 5, 5))
    program = net.finish(net("neg", net("sub", normal(6, 1, 1), net.conv("x", 6))))
    assert types(after(program, "fold_affine")) == ["conv"]


def test_arithmetic_per_column_folds_into_a_matrix_product() -> None:
    net = Net(x=(2, 4, 5))
    program = net.finish(net("add", net("mul", net("gemm", "x", normal(7, 5)), normal(7)), 2.0))
    assert types(after(program, "fold_affine")) == ["gemm"]


def test_arithmetic_that_varies_by_pixel_stays() -> None:
    net = Net(x=(1, 3, 5, 5))
    program = net.finish(net("mul", net.conv("x", 6), normal(1, 1, 5, 5)))
    assert types(after(program, "fold_affine")) == ["conv", "mul"]


def test_padding_with_zeros_folds_into_convolution_and_average() -> None:
    net = Net(x=(1, 3, 6, 6))
    y = net("pad", "x", pads=[0, 0, 1, 2, 0, 0, 3, 0])
    conv = net.conv(y, 4, 3, strides=[2, 2])
    pool = net("average_pool", y, kernel_shape=[4, 4])
    program = after(net.finish(conv, pool), "fuse_pad")
    assert types(program) == ["conv", "average_pool"]
    assert program.ops[0].attributes["pads"] == (2, 3, 4, 1)


def test_padding_under_a_maximum_folds_with_its_value() -> None:
    net = Net(x=(1, 3, 6, 6))
    pads = [0, 0, 0, 0, 0, 0, 1, 1]
    low = net("max_pool", net("pad", "x", pads=pads, value=-math.inf), kernel_shape=[2, 2])
    wins = net("max_pool", net("pad", net("neg", "x"), pads=pads), kernel_shape=[2, 2])
    alone = net("max_pool", net("pad", "x", pads=pads, value=2.0), kernel_shape=[1, 1])
    program = after(net.finish(low, wins, alone), "fuse_pad")
    assert types(program) == ["max_pool", "neg", "max_pool", "max_pool"]


def test_padding_of_two_values_under_a_maximum_stays() -> None:
    net = Net(x=(1, 3, 6, 6))
    padded = net("pad", "x", pads=[0, 0, 0, 0, 0, 0, 1, 1])
    y = net("max_pool", padded, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    assert types(after(net.finish(y), "fuse_pad")) == ["pad", "max_pool"]


@pytest.mark.parametrize(
    "attributes", [{"value": 1.0}, {"mode": "edge"}, {"pads": [0, 1, 0, 0] * 2}]
)
def test_other_padding_stays_before_a_convolution(attributes: dict[str, object]) -> None:
    net = Net(x=(1, 3, 6, 6))
    y = net("pad", "x", **{"pads": [0, 0, 1, 1, 0, 0, 1, 1], **attributes})
    assert types(after(net.finish(net.conv(y, 4, 3)), "fuse_pad")) == ["pad", "conv"]


def test_what_was_split_is_concatenated_whole() -> None:
    net = Net(x=(1, 8, 4, 4))
    a, b = net.many("split", 2, "x", axis=1, sizes=[3, 5])
    both = net("concat", "x", a, b, net("abs", b), axis=-3)
    swapped, repeated = net("concat", b, a, axis=1), net("concat", a, b, axis=1)
    program = after(net.finish(both, swapped, net("neg", repeated)), "fuse_split_concat")
    assert types(program) == ["split", "abs", "concat", "concat", "neg"]
    assert [len(op.inputs) for op in program.ops if op.type == "concat"] == [3, 2]
