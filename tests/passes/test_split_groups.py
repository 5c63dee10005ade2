"""Convolutions of a few wide groups."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, normal, types


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_each_group_has_a_convolution(groups: int) -> None:
    net = Net(x=(2, 32 * groups, 8, 7))
    y = net.conv("x", 40 * groups, 3, group=groups, clamp_min=0.0)
    program = after(net.finish(y), "split_groups")
    assert types(program) == ["split", *["conv"] * groups, "concat"]
    assert {op.attributes["clamp_min"] for op in program.ops[1:-1]} == {0.0}


def test_a_convolution_without_bias_is_split() -> None:
    net = Net(x=(1, 64, 4, 4))
    y = net("conv", "x", normal(64, 32, 3, 3), group=2)
    assert len(after(net.finish(y), "split_groups").ops) == 4


def test_others_are_unchanged() -> None:
    net = Net(x=(1, 128, 5, 5))
    narrow = net.conv("x", 128, 3, group=8)
    one = net.conv("x", 64, 3)
    large = net.conv("x", 64, 5, group=2)
    strided = net.conv("x", 64, 3, group=2, strides=(2, 2))
    dilated = net.conv("x", 64, 3, group=2, dilations=(2, 2))
    residual = net("conv", "x", normal(64, 64, 1, 1), normal(64), net.conv("x", 64), group=2)
    outputs = (narrow, one, large, strided, dilated, residual)
    assert set(types(after(net.finish(*outputs), "split_groups"))) == {"conv"}
