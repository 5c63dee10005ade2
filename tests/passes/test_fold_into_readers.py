"""Folding of affine functions per channel into what reads their results."""

from __future__ import annotations

import numpy as np
import pytest

from tests.small_programs import Array, Net, after, normal, types


def factors(*shape: int) -> Array:
    """Random numbers that are not near 0."""
    return np.abs(normal(*shape)) + np.float32(0.5)


@pytest.mark.parametrize("group", [1, 2, 8])
def test_batch_normalization_folds_into_a_convolution_behind_it(group: int) -> None:
    net = Net(x=(1, 8, 5, 5))
    y = net.batch_norm(net("relu", "x"))
    weights, strides = normal(16, 8 // group, 2, 2), [2, 2]
    program = net.finish(net("conv", y, weights, group=group, strides=strides))
    assert types(after(program, "fold_into_readers")) == ["relu", "conv"]


@pytest.mark.parametrize("type", ["add", "sub", "mul", "div"])
def test_arithmetic_folds_into_all_its_readers(type: str) -> None:
    net = Net(x=(1, 6, 5, 5))
    y = net(type, "x", factors(6, 1, 1))
    program = net.finish(net.conv(y, 4), net.conv(y, 3))
    assert types(after(program, "fold_into_readers")) == ["conv", "conv"]


def test_subtraction_from_a_constant_and_negation_fold() -> None:
    net = Net(x=(2, 3, 5))
    y = net("neg", net("sub", normal(5), "x"))
    program = net.finish(net("gemm", y, normal(7, 5), normal(7)))
    assert types(after(program, "fold_into_readers", "fold_into_readers")) == ["gemm"]


@pytest.mark.parametrize(("type", "left"), [("mul", ["conv"]), ("add", ["add", "conv"])])
def test_padding_is_zero_after_a_shift(type: str, left: list[str]) -> None:
    net = Net(x=(1, 3, 5, 5))
    program = net.finish(net.conv(net(type, "x", factors(3, 1, 1)), 4, 3))
    assert types(after(program, "fold_into_readers")) == left


@pytest.mark.parametrize("scale", [1e-6, 0.0, 1e4])
def test_a_scale_that_f16_may_not_hold_remains(scale: float) -> None:
    net = Net(x=(1, 3, 5, 5))
    program = net.finish(net.conv(net("mul", "x", scale), 4))
    assert types(after(program, "fold_into_readers")) == ["mul", "conv"]


def test_batch_normalization_over_rows_does_not_fold_into_a_gemm() -> None:
    net = Net(x=(2, 7, 5))
    program = net.finish(net("gemm", net.batch_norm("x"), normal(4, 5)))
    assert types(after(program, "fold_into_readers")) == ["batch_normalization", "gemm"]


def test_it_remains_for_other_readers() -> None:
    net = Net(x=(1, 3, 5, 5))
    y = net("mul", "x", factors(3, 1, 1))
    program = net.finish(net.conv(y, 4), net("relu", y))
    assert types(after(program, "fold_into_readers")) == ["mul", "conv", "relu"]


def test_it_remains_as_a_residual() -> None:
    net = Net(x=(1, 3, 5, 5))
    y = net("mul", "x", factors(3, 1, 1))
    program = net.finish(net("conv", y, normal(3, 3, 1, 1), normal(3), y))
    assert types(after(program, "fold_into_readers")) == ["mul", "conv"]


def test_an_output_remains() -> None:
    net = Net(x=(1, 3, 5, 5))
    y = net("mul", "x", factors(3, 1, 1))
    program = net.finish(y, net.conv(y, 4))
    assert types(after(program, "fold_into_readers")) == ["mul", "conv"]
