"""Tokens that become images, and images that become tokens."""

from __future__ import annotations

import numpy as np

import trimtab
from tests.small_programs import Net, after, types


def test_tokens_become_an_image_and_tokens_again() -> None:
    net = Net(x=(2, 35, 16))
    matrix = net("transpose", "x", permutation=(0, 2, 1))
    image = net("reshape", matrix, shape=(2, 16, 5, 7))
    image = net.conv(image, 16, 3, group=16)
    matrix = net("reshape", image, shape=(2, 16, 35))
    program = net.finish(net("transpose", matrix, permutation=(0, 2, 1)))
    changed = after(program, "transpose_images", "eliminate_dead_code")
    assert types(changed) == ["reshape", "transpose", "conv", "transpose", "reshape"]
    assert "convert_layout" not in types(trimtab.optimize(program))
    assert "transpose" not in types(trimtab.optimize(program))


def test_heads_become_channels_in_rows() -> None:
    net = Net(x=(2, 3, 35, 8))
    matrices = net("transpose", "x", permutation=(0, 1, 3, 2))
    image = net("reshape", matrices, shape=(2, 24, 5, 7))
    program = net.finish(net("max_pool", net("relu", image), kernel_shape=[2, 1]))
    changed = after(program, "transpose_images", "eliminate_dead_code")
    assert types(changed) == ["transpose", "reshape", "transpose", "relu", "max_pool"]
    assert types(trimtab.optimize(program)).count("convert_layout") == 1  # output
    x = np.random.default_rng(6).standard_normal((2, 3, 35, 8)).astype(np.float32)
    (y,) = trimtab.Session(program).run({"x": x}).values()
    pixels = np.maximum(x.swapaxes(2, 3).reshape(2, 24, 5, 7), 0)
    assert np.array_equal(y, np.maximum(pixels[:, :, :-1], pixels[:, :, 1:]))


def test_heads_that_stay_plain_move_once() -> None:
    net = Net(x=(2, 3, 35, 8))
    matrices = net("transpose", "x", permutation=(0, 1, 3, 2))
    image = net("reshape", matrices, shape=(2, 24, 5, 7))
    program = net.finish(net("reshape", image, shape=(2, 12, 70)))
    assert types(after(program, "transpose_images")) == types(program)


def test_a_matrix_that_others_read_stays() -> None:
    net = Net(x=(1, 12, 8))
    matrix = net("transpose", "x", permutation=(0, 2, 1))
    image = net("reshape", matrix, shape=(1, 8, 3, 4))
    program = after(net.finish(net.conv(image, 8), net("relu", matrix)), "transpose_images")
    assert sorted(types(program)) == ["conv", "relu", "reshape", "transpose", "transpose"]


def test_channels_that_are_split_are_no_image() -> None:
    net = Net(x=(1, 12, 8), image=(1, 4, 3, 5))
    heads = net("reshape", net("transpose", "x", permutation=(0, 2, 1)), shape=(1, 2, 4, 12))
    rows = net("reshape", "image", shape=(1, 12, 5))
    program = net.finish(heads, net("transpose", rows, permutation=(0, 2, 1)))
    changed = after(program, "transpose_images")
    assert types(changed) == types(program)


def test_a_normalization_of_whole_images_is_one_in_nhwc() -> None:
    net = Net(x=(2, 6, 5, 7))
    joined = net("reshape", net.conv("x", 6), shape=(2, 1, 210))
    joined = net("instance_normalization", joined, np.array([2.0]), np.array([0.5]))
    program = net.finish(net.conv(net("reshape", joined, shape=(2, 6, 5, 7)), 6))
    after(program, "transpose_images")
    assert types(trimtab.optimize(program)).count("convert_layout") == 2  # input and output


def test_a_normalization_of_several_groups_keeps_their_order() -> None:
    net = Net(x=(2, 6, 5, 7))
    joined = net("reshape", "x", shape=(2, 2, 105))
    joined = net("instance_normalization", joined, np.array([2.0, 1.0]), np.array([0.5, 0.0]))
    program = net.finish(net("reshape", joined, shape=(2, 6, 5, 7)))
    assert types(after(program, "transpose_images")) == types(program)
