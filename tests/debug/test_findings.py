"""Bounds of an operator's results, and tensors in figures."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.bench.golden import MAX_STEPS
from trimtab.debug import findings


@pytest.mark.parametrize(("error", "is_wrong"), [(0.0, False), (3e-7, False), (1e-4, True)])
def test_small_values_are_compared_with_the_largest_of_them(error: float, is_wrong: bool) -> None:
    right = np.linspace(-1e-3, 1e-3, 50, dtype=np.float32)
    actual = right + np.float32(error) * np.float32(1e-2 if not is_wrong else 1)
    assert bool(findings.agreement("y", right, actual, None).wrong) == is_wrong


@pytest.mark.parametrize(
    ("elements", "steps", "is_wrong"), [(1, MAX_STEPS, False), (1, 9, True), (20, 1, True)]
)
def test_integers_may_differ_in_few_elements_by_few_steps(
    elements: int, steps: int, is_wrong: bool
) -> None:
    right = np.zeros(500, np.int8)
    actual = right.copy()
    actual[:elements] += np.int8(steps)
    assert bool(findings.agreement("y", right, actual, None).wrong) == is_wrong


def test_figures_of_a_tensor_leave_out_what_is_not_finite() -> None:
    one = findings.Figures.of(np.array([1, -3, np.inf, np.nan], np.float32))
    assert (one.min, one.max, one.mean, one.not_finite) == (-3, 1, -1, 2)
    assert one.rms == pytest.approx(5**0.5)
