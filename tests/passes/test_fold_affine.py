"""Folding of affine functions per channel."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, normal, types


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


def test_arithmetic_per_column_folds_into_a_gemm() -> None:
    net = Net(x=(2, 4, 5))
    program = net.finish(net("add", net("mul", net("gemm", "x", normal(7, 5)), normal(7)), 2.0))
    assert types(after(program, "fold_affine")) == ["gemm"]


def test_arithmetic_per_pixel_remains() -> None:
    net = Net(x=(1, 3, 5, 5))
    program = net.finish(net("mul", net.conv("x", 6), normal(1, 1, 5, 5)))
    assert types(after(program, "fold_affine")) == ["conv", "mul"]
