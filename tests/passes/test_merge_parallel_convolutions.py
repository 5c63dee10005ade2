"""Parallel convolutions become one."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, normal, types

PASS = "merge_parallel_convolutions"


@pytest.mark.parametrize("group", [1, 2, 8])
@pytest.mark.parametrize("strides", [[1, 1], [2, 2], [2, 1]])
def test_windows_of_one_center_merge(group: int, strides: list[int]) -> None:
    net = Net(x=(1, 8, 9, 7))
    branches = [net.conv("x", 8, k, group=group, strides=strides) for k in (1, 5, 3, 1)]
    total = branches[0]
    for branch in branches[1:]:
        total = net("add", total, branch)
    changed = after(net.finish(total), PASS)
    assert types(changed) == ["conv"]
    (op,) = changed.ops
    assert changed.vars[op.inputs[1]].shape == (8, 8 // group, 5, 5)


@pytest.mark.parametrize("group", [1, 4, 8])
def test_a_repvgg_block_becomes_one_convolution(group: int) -> None:
    net = Net(x=(2, 8, 6, 5))
    branches = net("add", net.conv("x", 8, 3, group=group), net.conv("x", 8, 1, group=group))
    program = net.finish(net("relu", net("add", net.batch_norm("x"), branches)))
    assert types(after(program, PASS)) == ["conv", "relu"]


def test_a_difference_and_its_scale_fold() -> None:
    net = Net(x=(1, 8, 6, 5))
    mixed = net("sub", net.batch_norm("x"), net.conv("x", 8, 3, group=8))
    scaled = net("mul", mixed, normal(8, 1, 1))
    assert types(after(net.finish(scaled), PASS)) == ["conv"]


def test_a_batch_normalization_joins_several_sums() -> None:
    net = Net(x=(1, 8, 6, 5))
    normalized = net.batch_norm("x")
    mixed = net("add", net.conv("x", 8, 3, group=8), normalized)
    program = net.finish(net("mul", net("sub", mixed, normalized), normal(8, 1, 1)))
    assert types(after(program, PASS)) == ["conv"]


def test_a_batch_normalization_that_others_read_stays_the_residual() -> None:
    net = Net(x=(1, 8, 6, 5))
    normalized = net.batch_norm("x")
    program = net.finish(net("add", net.conv("x", 8, 3), normalized), net("relu", normalized))
    assert sorted(types(after(program, PASS))) == ["add", "batch_normalization", "conv", "relu"]


def test_the_input_merges_before_a_batch_normalization_only() -> None:
    net = Net(x=(1, 8, 6, 5))
    program = net.finish(net.batch_norm(net("add", net.conv("x", 8, 3), "x")))
    assert types(after(program, PASS)) == ["conv"]
    net = Net(x=(1, 8, 6, 5))
    program = net.finish(net("add", net.conv("x", 8, 3), "x"))
    assert types(after(program, PASS)) == ["conv", "add"]


def test_unequal_pads_and_rectangles_merge_where_one_window_holds_the_other() -> None:
    net = Net(x=(1, 3, 9, 9))
    large = net("conv", "x", normal(4, 3, 4, 3), normal(4), pads=[1, 1, 2, 1])
    small = net("conv", "x", normal(4, 3, 2, 1), normal(4), pads=[0, 0, 1, 0])
    assert types(after(net.finish(net("add", large, small)), PASS)) == ["conv"]


def test_a_smaller_window_may_lie_between_dilated_taps() -> None:
    net = Net(x=(1, 3, 9, 9))
    large = net("conv", "x", normal(4, 3, 3, 3), pads=[2] * 4, dilations=[2, 2])
    point = net("conv", "x", normal(4, 3, 1, 1))
    assert types(after(net.finish(net("add", large, point)), PASS)) == ["conv"]


def different_dilations(net: Net) -> str:
    """3x3 taps at a distance of 2 and of 1."""
    wide = net.conv("x", 8, 3, pads=[2] * 4, dilations=[2, 2])
    return net("add", wide, net.conv("x", 8, 3))


def crossing_windows(net: Net) -> str:
    """A row and a column: neither holds the other."""
    row = net("conv", "x", normal(8, 8, 1, 3), pads=[0, 1, 0, 1])
    return net("add", row, net("conv", "x", normal(8, 8, 3, 1), pads=[1, 0, 1, 0]))


def off_center(net: Net) -> str:
    """A point outside of the window of the other."""
    below = net("conv", "x", normal(8, 8, 2, 1), pads=[0, 0, 1, 0])
    return net("add", net("conv", "x", normal(8, 8, 2, 1), pads=[1, 0, 0, 0]), below)


def different_groups(net: Net) -> str:
    """A dense and a depthwise convolution."""
    return net("add", net.conv("x", 8, 3), net.conv("x", 8, 3, group=8))


def two_readers(net: Net) -> str:
    """The result of a branch is needed."""
    branch = net.conv("x", 8, 3)
    return net("mul", net("add", net.conv("x", 8, 1), branch), branch)


def different_inputs(net: Net) -> str:
    """A chain is no pair of branches."""
    first = net.conv("x", 8, 1)
    return net("add", net("relu", first), net.conv(first, 8, 3))


@pytest.mark.parametrize(
    "build",
    [
        different_dilations,
        crossing_windows,
        off_center,
        different_groups,
        two_readers,
        different_inputs,
    ],
    ids=lambda build: build.__name__,
)
def test_others_remain(build: object) -> None:
    assert callable(build)
    net = Net(x=(1, 8, 9, 9))
    program = net.finish(build(net))
    assert types(after(program, PASS)) == types(program)
