"""Depthwise convolutions with several outputs per channel."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, normal, types


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("kernel", [3, 7])
def test_each_output_of_a_channel_has_a_convolution(factor: int, kernel: int) -> None:
    net = Net(x=(2, 9, 8, 7))
    y = net.conv("x", 9 * factor, kernel, group=9, strides=(2, 1), clamp_min=0.0)
    program = after(net.finish(y), "split_depthwise")
    assert types(program) == ["conv"] * factor + ["concat", "channel_shuffle"]
    assert {op.attributes["clamp_min"] for op in program.ops[:factor]} == {0.0}


def test_a_convolution_without_bias_is_split() -> None:
    net = Net(x=(1, 8, 4, 4))
    y = net("conv", "x", normal(16, 1, 3, 3), group=8)
    assert len(after(net.finish(y), "split_depthwise").ops) == 4


def test_others_are_unchanged() -> None:
    net = Net(x=(1, 8, 5, 5))
    one = net.conv("x", 8, 3, group=8)
    few = net.conv(net.conv("x", 3), 6, 3, group=3)
    grouped = net.conv("x", 16, 3, group=4)
    residual = net("conv", "x", normal(16, 1, 1, 1), normal(16), net.conv("x", 16), group=8)
    program = after(net.finish(one, few, grouped, residual), "split_depthwise")
    assert set(types(program)) == {"conv"}
