"""Strided 1x1 convolutions."""

from __future__ import annotations

from tests.small_programs import Net, after, normal, types


def test_a_strided_1x1_convolution_reads_a_slice_of_the_pixels() -> None:
    net = Net(x=(2, 6, 5, 8))
    y = net.conv("x", 7, strides=(2, 3), dilations=(2, 2))
    program = after(net.finish(net("relu", y)), "subsample_pointwise")
    assert types(program) == ["slice", "conv", "relu"]
    assert program.vars[program.ops[0].outputs[0]].shape == (2, 6, 3, 3)
    assert program.ops[1].attributes["strides"] == (1, 1)


def test_other_strided_convolutions_are_unchanged() -> None:
    net = Net(x=(1, 6, 5, 8))
    padded = net("conv", "x", normal(4, 6, 1, 1), strides=(2, 2), pads=(1, 1, 1, 1))
    corner = net("conv", "x", normal(4, 6, 1, 1), strides=(2, 2), pads=(1, 0, 0, 0))
    wide = net.conv("x", 4, 3, strides=(2, 2))
    groups = net.conv("x", 6, group=6, strides=(2, 2))
    program = after(net.finish(padded, corner, wide, groups), "subsample_pointwise")
    assert types(program) == ["conv"] * 4
