"""Fusion of padding."""

from __future__ import annotations

import math

import pytest

from tests.small_programs import Net, after, types


def test_zero_padding_fuses_into_convolution_and_average_pool() -> None:
    net = Net(x=(1, 3, 6, 6))
    y = net("pad", "x", pads=[0, 0, 1, 2, 0, 0, 3, 0])
    conv = net.conv(y, 4, 3, strides=[2, 2])
    pool = net("average_pool", y, kernel_shape=[4, 4])
    program = after(net.finish(conv, pool), "fuse_pad")
    assert types(program) == ["conv", "average_pool"]
    assert program.ops[0].attributes["pads"] == (2, 3, 4, 1)


def test_padding_before_a_maximum_fuses_with_its_value() -> None:
    net = Net(x=(1, 3, 6, 6))
    pads = [0, 0, 0, 0, 0, 0, 1, 1]
    low = net("max_pool", net("pad", "x", pads=pads, value=-math.inf), kernel_shape=[2, 2])
    wins = net("max_pool", net("pad", net("neg", "x"), pads=pads), kernel_shape=[2, 2])
    alone = net("max_pool", net("pad", "x", pads=pads, value=2.0), kernel_shape=[1, 1])
    program = after(net.finish(low, wins, alone), "fuse_pad")
    assert types(program) == ["max_pool", "neg", "max_pool", "max_pool"]


def test_padding_with_a_second_value_before_a_maximum_remains() -> None:
    net = Net(x=(1, 3, 6, 6))
    padded = net("pad", "x", pads=[0, 0, 0, 0, 0, 0, 1, 1])
    y = net("max_pool", padded, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    assert types(after(net.finish(y), "fuse_pad")) == ["pad", "max_pool"]


@pytest.mark.parametrize(
    "attributes", [{"value": 1.0}, {"mode": "edge"}, {"pads": [0, 1, 0, 0] * 2}]
)
def test_other_padding_before_a_convolution_remains(attributes: dict[str, object]) -> None:
    net = Net(x=(1, 3, 6, 6))
    y = net("pad", "x", **{"pads": [0, 0, 1, 1, 0, 0, 1, 1], **attributes})
    assert types(after(net.finish(net.conv(y, 4, 3)), "fuse_pad")) == ["pad", "conv"]


@pytest.mark.parametrize(("amount", "left"), [(1, ["average_pool"]), (2, ["pad", "average_pool"])])
def test_padding_as_wide_as_a_window_of_an_average_remains(amount: int, left: list[str]) -> None:
    net = Net(x=(1, 3, 6, 6))
    y = net("pad", "x", pads=[0, 0, 0, 0, 0, 0, amount, 0])
    program = after(net.finish(net("average_pool", y, kernel_shape=[2, 3])), "fuse_pad")
    assert types(program) == left
