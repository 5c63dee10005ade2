"""Least squares of times: known coefficients are coefficients, noise and outliers included."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.fitting import solve
from trimtab.fitting.solve import NAMES, Sample
from trimtab.planner.fitted import Parts

# Cycles for each part: those of a GEMM whose weights come from memory.
TRUE = {"products": 0.06, "tiles": 90.0, "bytes": 0.15, "call": 1500.0}


def drawn(count: int, seed: int = 3) -> list[Parts]:
    """Parts of the sizes that layers have."""
    rng = np.random.default_rng(seed)
    scales = {"products": 3e7, "tiles": 2e3, "bytes": 1e6}
    return [
        Parts(
            **{
                name: float(rng.uniform(0.01, 1) * scales.get(name, 0))
                for name in NAMES
                if name != "call"
            }
        )
        for _ in range(count)
    ]


def cycles(parts: Parts) -> float:
    return float(sum(value * getattr(parts, name) for name, value in TRUE.items()))


def test_exact_times_give_the_coefficients_that_made_them() -> None:
    coefficients, error = solve.fit([Sample(parts, cycles(parts)) for parts in drawn(40)])
    assert coefficients == pytest.approx({name: TRUE.get(name, 0.0) for name in NAMES}, rel=1e-4)
    assert error < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_coefficients_survive_noise_and_disturbed_samples(seed: int) -> None:
    """Three percent of noise, and one sample of ten took three times as long."""
    rng = np.random.default_rng(seed)
    samples = [
        Sample(parts, cycles(parts) * rng.normal(1, 0.03) * (3 if index % 10 == 0 else 1))
        for index, parts in enumerate(drawn(120, seed))
    ]
    coefficients, error = solve.fit(samples)
    assert coefficients["products"] == pytest.approx(TRUE["products"], rel=0.1)
    assert 0.2 < error < 1, "the error tells of the samples that the fit does not explain"
    clean = drawn(50, seed + 100)
    predicted = [sum(coefficients[name] * getattr(p, name) for name in NAMES) for p in clean]
    ratios = np.array(predicted) / [cycles(p) for p in clean]
    assert np.abs(np.log(ratios)).mean() < 0.06


def test_no_coefficient_is_negative() -> None:
    """Times that fall with the number of tiles: the best fit without a sign would be negative."""
    samples = [
        Sample(parts, 0.06 * parts.products + 1e6 - 100 * parts.tiles) for parts in drawn(60)
    ]
    coefficients, _ = solve.fit(samples)
    assert min(coefficients.values()) >= 0
    assert coefficients["tiles"] == 0


def test_least_squares_without_an_active_bound_is_ordinary_least_squares() -> None:
    rng = np.random.default_rng(0)
    a = rng.uniform(0, 1, (30, 4))
    b = a @ [1.0, 2.0, 0.5, 3.0] + rng.normal(0, 0.01, 30)
    np.testing.assert_allclose(
        solve.non_negative(a, b), np.linalg.lstsq(a, b, rcond=None)[0], rtol=1e-6
    )


def test_least_squares_fulfil_the_conditions_of_an_optimum() -> None:
    """Karush, Kuhn and Tucker: no gradient at positive values, none that would gain at zeros."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a, b = rng.normal(0, 1, (25, 6)), rng.normal(0, 1, 25)
        x = solve.non_negative(a, b)
        gradient = a.T @ (b - a @ x)
        assert x.min() >= 0
        assert np.abs(gradient[x > 0]).max(initial=0) < 1e-6
        assert gradient[x == 0].max(initial=0) < 1e-6


def test_too_few_samples_make_no_row() -> None:
    samples = [Sample(parts, cycles(parts)) for parts in drawn(solve.MIN_SAMPLES)]
    groups = {("few", "direct", 1): samples[1:], ("enough", "direct", 2): samples}
    (row,) = solve.rows(groups)
    assert (row.kernel, row.algorithm, row.threads) == ("enough", "direct", 2)
    assert row.samples == solve.MIN_SAMPLES
