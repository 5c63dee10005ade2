"""Ranges of the methods endpoint, norm and activation_aware."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trimtab.quantization.methods import method
from trimtab.quantization.observer import Observer, Range

RNG = np.random.default_rng(15)


# Ranges.


def test_endpoint_extends_an_extreme_by_its_distance_from_the_second_one() -> None:
    moments = Observer()
    for values in ([-1, 2], [-3, 5], [-2.5, 4], [1, 3]):
        moments.add_extremes(np.array(values, np.float32))
    assert method("endpoint").range_of(moments) == Range(-3.5, 6.0)
    one = Observer()
    one.add_extremes(np.array([-1, 2], np.float32))
    assert method("endpoint").range_of(one) == Range(-1.0, 2.0)


@pytest.mark.parametrize(("name", "power"), [("mse", 2.0), ("norm", 2.4)])
def test_norm_selects_the_range_with_the_smallest_error(name: str, power: float) -> None:
    values = RNG.standard_t(3, 20000).astype(np.float32)
    moments = Observer()
    moments.add_extremes(values)
    moments.add_counts(values)

    def error(least: float, most: float) -> float:
        step = (most - least) / 255
        ranges = np.clip(np.rint((values - least) / step), 0, 255) * step + least
        return float((np.abs(ranges - values) ** power).mean())

    result = method(name).range_of(moments)
    shares = np.linspace(0.02, 1, 40)
    ends = itertools.product(values.min() * shares, values.max() * shares)
    assert error(result.low, result.high) < 1.05 * min(error(*pair) for pair in ends)


def test_activation_aware_clips_only_before_a_function() -> None:
    values = RNG.standard_t(3, 20000).astype(np.float32)
    for function in (None, lambda x: np.where(x > 0, x, 0.01 * x)):
        moments = Observer(function=function)
        moments.add_extremes(values)
        moments.add_counts(values)
        expected = method("mse" if function else "min_max").range_of(moments)
        assert method("activation_aware").range_of(moments) == expected
