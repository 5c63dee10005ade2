"""Adaptive rounding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.ops.cases.case import Array
from trimtab.program import Op, Program
from trimtab.quantization import adaptive_rounding
from trimtab.session import Session

RNG = np.random.default_rng(15)


# Rounding of weights.


def objective(places: Array, chosen: Array, matrix: Array) -> Array:
    errors = places - chosen
    return np.asarray(np.einsum("...d,de,...e->...", errors, matrix, errors))


def test_weights_are_rounded_jointly() -> None:
    depth, rows, step = 4, 40, 0.01
    samples = RNG.normal(0, 1, (200, 2)) @ RNG.normal(0, 1, (2, depth))
    covariance = np.cov(samples, rowvar=False, bias=True)
    weights = RNG.normal(0, 1, (rows, depth)).astype(np.float32)
    scales = (abs(weights).max(axis=1) / 127).astype(np.float32)
    alone = adaptive_rounding.Covariance(covariance[None])
    chosen = adaptive_rounding.rounded(weights, scales, alone, step).astype(np.float64)
    places, matrix = weights / scales[:, None], covariance + np.eye(depth) * step**2 / 12
    result = objective(places, chosen, matrix)
    nearest = np.rint(places)
    assert result.sum() < 0.5 * objective(places, nearest, matrix).sum()
    # Changing any single weight does not reduce the error.
    for j, change in itertools.product(range(depth), (-1, 1)):
        other = chosen.copy()
        other[:, j] = np.clip(other[:, j] + change, -127, 127)
        assert (objective(places, other, matrix) >= result * (1 - 1e-9)).all()


def test_weights_are_rounded_to_nearest_without_a_covariance() -> None:
    weights = RNG.normal(0, 1, (6, 2, 3, 3)).astype(np.float32)
    scales = np.full(6, 0.03, np.float32)
    expected = np.clip(np.rint(weights / scales[0]), -127, 127)
    np.testing.assert_array_equal(adaptive_rounding.rounded(weights, scales, None, 1.0), expected)
    alone = adaptive_rounding.Covariance(np.broadcast_to(np.eye(18), (1, 18, 18)))
    np.testing.assert_array_equal(adaptive_rounding.rounded(weights, scales, alone, 1.0), expected)


@pytest.mark.parametrize(("group", "stride", "dilation"), [(1, 1, 1), (2, 2, 1), (4, 1, 2)])
def test_sampled_operands_are_those_of_the_convolution(
    group: int, stride: int, dilation: int
) -> None:
    program = Program("conv")
    program.add_input("x", (1, 4, 9, 7))
    weights = RNG.normal(0, 1, (8, 4 // group, 3, 3)).astype(np.float32)
    constant = program.block.add_constant(weights)
    values = {
        "group": group,
        "strides": (stride, stride),
        "dilations": (dilation, dilation),
        "pads": (1, 2, 0, 1),
    }
    program.outputs = program.block.add_op("conv", ["x", constant], values, ["y"])
    op: Op = program.ops[0]
    x = RNG.normal(0, 1, (1, 4, 9, 7)).astype(np.float32)
    result = adaptive_rounding.sampled_operands(program, op, x, 1, 0)  # of one sample: all places
    sums = result @ weights.reshape(group, -1, weights[0].size).transpose(0, 2, 1)
    (y,) = Session(program).run({"x": x}).values()
    expected = y.reshape(group, 8 // group, -1).transpose(0, 2, 1)
    assert sums.shape == expected.shape
    np.testing.assert_allclose(np.sort(sums, axis=1), np.sort(expected, axis=1), atol=1e-4)
    observer = adaptive_rounding.empty_moments(program, op)
    assert observer is not None
    for part in np.array_split(result, 3, axis=1):
        observer.add(part)
    assert not observer.covariance.is_factor
    for covariance, rows in zip(observer.covariance.matrix, result, strict=True):
        reference = np.cov(rows, rowvar=False, bias=True)
        np.testing.assert_allclose(covariance, reference, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("groups", "depth"), [(1, 90), (3, 40), (1, 1100)])
def test_few_sums_round_weights_as_their_covariance_does(groups: int, depth: int) -> None:
    operands = RNG.normal(0, 1, (groups, depth // 3, depth)).astype(np.float32) + 0.5
    moments = adaptive_rounding.Moments(0, np.zeros((groups, depth)))
    for part in np.array_split(operands, 3, axis=1):
        moments.add(part)
    assert moments.is_finite
    assert moments.covariance.is_factor
    matrices = np.stack([np.cov(one, rowvar=False, bias=True) for one in operands])
    whole = adaptive_rounding.Covariance(matrices)
    weights = RNG.normal(0, 1, (8 * groups, depth)).astype(np.float32)
    scales = (abs(weights).max(axis=1) / 127).astype(np.float32)
    places = (weights / scales[:, None]).reshape(groups, 8, depth)
    few, all_ = (
        adaptive_rounding.rounded(weights, scales, one, 0.3).astype(np.float64)
        for one in (moments.covariance, whole)
    )
    regular = matrices + np.eye(depth) * 0.3**2 / 12
    errors = [
        sum(map(np.sum, map(objective, places, one.reshape(places.shape), regular)))
        for one in (few, all_)
    ]
    assert errors[0] <= 1.001 * errors[1]
    assert (few == all_).mean() > (0.999 if depth < 1000 else 0.98)
    moments.add(np.full_like(operands[:, :1], np.inf))
    assert not moments.is_finite
