"""Folding of batch normalization."""

from __future__ import annotations

import pytest

from tests.small_programs import Net, after, normal, types


@pytest.mark.parametrize("group", [1, 2, 8])
def test_batch_normalization_folds_into_a_convolution(group: int) -> None:
    net = Net(x=(1, 8, 5, 5))
    program = net.finish(net.batch_norm(net.conv("x", 8, 3, group=group)))
    assert types(after(program, "fold_batch_norm")) == ["conv"]


@pytest.mark.parametrize("group", [1, 2])
def test_batch_normalization_folds_into_a_transposed_convolution(group: int) -> None:
    net = Net(x=(1, 4, 5, 5))
    y = net("conv_transpose", "x", normal(4, 6 // group, 3, 3), group=group, strides=[2, 2])
    assert types(after(net.finish(net.batch_norm(y)), "fold_batch_norm")) == ["conv_transpose"]


def test_batch_normalization_folds_into_a_gemm() -> None:
    net = Net(x=(3, 5))
    program = net.finish(net.batch_norm(net("gemm", "x", normal(7, 5))))
    assert types(after(program, "fold_batch_norm")) == ["gemm"]


def test_batch_normalization_over_rows_does_not_fold_into_a_gemm() -> None:
    net = Net(x=(2, 7, 5))
    program = net.finish(net.batch_norm(net("gemm", "x", normal(7, 5))))
    assert types(after(program, "fold_batch_norm")) == ["gemm", "batch_normalization"]


def test_batch_normalization_of_reshaped_rows_folds_into_a_gemm() -> None:
    net = Net(x=(2, 3, 5))
    rows = net("reshape", net("gemm", "x", normal(7, 5)), shape=(6, 7))
    program = net.finish(net.batch_norm(rows))
    assert types(after(program, "fold_batch_norm")) == ["gemm", "reshape"]


@pytest.mark.parametrize("shape", [(3, 7, 2), (3, 14)])
def test_batch_normalization_of_other_shapes_remains(shape: tuple[int, ...]) -> None:
    net = Net(x=(2, 3, 5))
    rows = net("reshape", net("gemm", "x", normal(7, 5)), shape=shape)
    program = net.finish(net.batch_norm(rows))
    assert types(after(program, "fold_batch_norm")) == ["gemm", "reshape", "batch_normalization"]


def test_batch_normalization_remains_if_the_convolution_has_another_reader() -> None:
    net = Net(x=(1, 4, 5, 5))
    y = net.conv("x", 4)
    program = net.finish(net("mul", net.batch_norm(y), y))
    assert types(after(program, "fold_batch_norm")) == ["conv", "batch_normalization", "mul"]


def test_shared_weights_are_scaled_for_one_convolution_only() -> None:
    net = Net(x=(1, 4, 5, 5))
    weights = net.program.block.add_constant(normal(4, 4, 1, 1))
    a, b = net("conv", "x", weights), net("conv", "x", weights)
    program = net.finish(net("add", net.batch_norm(a), b))
    assert types(after(program, "fold_batch_norm")) == ["conv", "conv", "add"]
