"""Calibration methods."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.cases.case import Array
from tests.quantization.small import seen
from trimtab.errors import UsageError
from trimtab.quantization.insert_qdq import quantization
from trimtab.quantization.methods import method, methods
from trimtab.quantization.observer import BINS, Observer, Range


@pytest.mark.parametrize("name", methods())
@pytest.mark.parametrize(
    "values",
    [
        np.zeros(10, np.float32),
        np.full(10, 3.0, np.float32),
        np.full(10, -3.0, np.float32),
        np.linspace(-1, 2, 999, dtype=np.float32),
        np.array([1e30, 0, -1e30], np.float32),
        np.array([np.inf, 1, np.nan], np.float32),
    ],
)
def test_ranges_contain_zero_and_stay_within_the_observed_range(name: str, values: Array) -> None:
    result = method(name).range_of(seen(values))
    finite = values[np.isfinite(values)]
    assert min(0.0, finite.min()) - 1e-6 * abs(finite.min()) <= result.low <= 0
    assert 0 <= result.high <= max(0.0, finite.max()) + 1e-6 * abs(finite.max())


def test_min_max_is_the_range_of_all_samples() -> None:
    both = seen(np.array([-1.0, 2.0]), np.array([-3.0, 1.0]))
    assert method("min_max").range_of(both) == Range(-3.0, 2.0)


def test_percentile_equals_that_of_numpy() -> None:
    values = np.random.default_rng(3).standard_t(3, 400_000)
    result = method("percentile").range_of(seen(values))
    width = (values.max() - values.min()) / BINS
    assert result.low == pytest.approx(np.quantile(values, 0.5e-5), abs=2 * width)
    assert result.high == pytest.approx(np.quantile(values, 1 - 0.5e-5), abs=2 * width)


def test_mse_has_a_smaller_error_than_any_scaled_range() -> None:
    values = np.random.default_rng(4).standard_t(4, 100_000)

    def error(least: float, most: float) -> float:
        q = quantization(Range(least, most))
        stored = np.clip(np.rint(values / q.scale[0]) + q.zero_point[0], -128, 127)
        return float(((values - (stored - q.zero_point[0]) * q.scale[0]) ** 2).mean())

    result = method("mse").range_of(seen(values))
    whole = seen(values).whole
    best = min(error(whole.low * s, whole.high * s) for s in np.linspace(0.3, 1, 30))
    assert error(result.low, result.high) <= 1.02 * best
    assert error(result.low, result.high) < error(whole.low, whole.high)


def test_mse_of_the_operand_of_a_function_is_that_of_its_results() -> None:
    def swish(x: Array) -> Array:
        return np.asarray(x / (1 + np.exp(-x)))

    values = np.random.default_rng(9).normal(-4, 4, 100_000)

    def error(result: Range) -> float:
        q = quantization(result)
        stored = np.clip(np.rint(values / q.scale[0]) + q.zero_point[0], -128, 127)
        real = (stored - q.zero_point[0]) * q.scale[0]
        return float(((swish(values) - swish(real)) ** 2).mean())

    aware = Observer(function=swish)
    aware.add_extremes(values)
    aware.add_counts(values)
    result, plain = method("mse").range_of(aware), method("mse").range_of(seen(values))
    best = min(
        error(Range(least, most))
        for least in np.linspace(-20, -1, 20)
        for most in np.linspace(4, 14, 21)
    )
    assert error(result) <= 1.05 * best
    assert error(result) < 0.6 * error(plain)


def test_an_unknown_method_is_an_error_that_lists_them() -> None:
    with pytest.raises(UsageError) as caught:
        method("guess")
    assert all(name in caught.value.hint for name in methods())


@pytest.mark.parametrize(
    ("former", "successor"),
    [("reach", "activation_aware"), ("moving_average", "min_max"), ("entropy", "mse")],
)
def test_a_former_method_is_an_error_that_names_the_nearest_one(
    former: str, successor: str
) -> None:
    with pytest.raises(UsageError) as caught:
        method(former)
    assert caught.value.hint == f"use {successor}"
    assert successor in methods()
