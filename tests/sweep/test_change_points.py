"""Change points in simulated histories with known changes."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.sweep import change_points


def noise(generator: np.random.Generator, count: int, tail: str) -> np.ndarray:
    """Factors around 1 with a scatter of 1 %; of "heavy" ones a few are far off."""
    if tail == "normal":
        return np.exp(0.01 * generator.standard_normal(count))
    return np.exp(0.006 * generator.standard_t(2, count))


@pytest.mark.parametrize("tail", ["normal", "heavy"])
@pytest.mark.parametrize("count", [8, 30])
def test_a_history_without_a_step_shows_one_no_more_often_than_its_significance_level(
    tail: str, count: int
) -> None:
    generator = np.random.default_rng(count)
    trials = 100
    points = sum(
        bool(change_points.noisy(list(1e6 * noise(generator, count, tail)), seed=i))
        for i in range(trials)
    )
    # Binomial(100, 0.01) is above 5 once in two thousand times.
    assert points <= 5


@pytest.mark.parametrize("tail", ["normal", "heavy"])
def test_a_step_is_detected_at_its_place_with_its_size(tail: str) -> None:
    generator = np.random.default_rng(1)
    trials = 40
    right = 0
    for i in range(trials):
        values = 1e6 * noise(generator, 30, tail)
        values[18:] *= 1.05
        points = change_points.noisy(list(values), seed=i)
        near = [step for step in points if abs(step.at - 18) <= 1]
        right += len(near) == 1 and abs(near[0].ratio - 1.05) < 0.015
    assert right >= 0.9 * trials


def test_a_step_up_and_one_down_are_two() -> None:
    generator = np.random.default_rng(2)
    values = 1e6 * noise(generator, 45, "normal")
    values[15:30] *= 1.06
    points = change_points.noisy(list(values))
    assert [step.at for step in points] == [15, 30]
    assert points[0].ratio == pytest.approx(1.06, abs=0.01)
    assert points[1].ratio == pytest.approx(1 / 1.06, abs=0.01)


def test_a_single_outlier_is_no_step() -> None:
    generator = np.random.default_rng(3)
    values = 1e6 * noise(generator, 30, "normal")
    values[12] *= 1.5
    assert change_points.noisy(list(values)) == []


def test_the_split_is_the_one_with_the_largest_energy_distance() -> None:
    values = np.log([1.0, 1.01, 0.99, 1.02, 1.3, 1.29, 1.31, 1.28, 1.0, 1.02, 1.01])

    def mean(xs: np.ndarray, ys: np.ndarray, pairs: int) -> float:
        return float(sum(abs(x - y) for x in xs for y in ys)) / pairs

    def energy(at: int, upto: int) -> float:
        left, right = values[:at], values[at:upto]
        m, n = len(left), len(right)
        within = mean(left, left, m * (m - 1)) + mean(right, right, n * (n - 1))
        return m * n / (m + n) * (2 * mean(left, right, m * n) - within)

    pairs = [(i, j) for i in range(3, 12) for j in range(i + 3, 12)]
    best = max(pairs, key=lambda pair: energy(*pair))
    at, points = change_points.best_split(values)
    assert at == best[0] == 4
    assert points == pytest.approx(energy(*best))


def test_too_few_values_have_no_change_point() -> None:
    assert change_points.noisy([1.0, 1.0, 1.0, 9.0, 9.0, 9.0]) == []
    assert change_points.noisy([5.0]) == change_points.noisy([]) == []


def test_every_change_of_an_exact_figure_is_a_step() -> None:
    points = change_points.exact([100, 100, 101, 101, 50])
    assert [(step.at, step.ratio) for step in points] == [(2, 1.01), (4, 50 / 101)]
