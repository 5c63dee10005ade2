"""Bounds of an operator's results, and tensors in figures."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.bench.golden import MAX_STEPS
from trimtab.debug import findings, regions
from trimtab.program import Program
from trimtab.target import Target

TERMS = 768


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


@pytest.mark.parametrize(("terms", "is_wrong"), [(TERMS, False), (TERMS - 64, True)])
def test_a_device_that_adds_in_f16_may_round_sums_that_cancel(terms: int, is_wrong: bool) -> None:
    rng = np.random.default_rng(7)
    signs = np.repeat([1, -1], TERMS // 2)
    x, weights = (rng.random((8, TERMS)).astype(np.float16) for _ in range(2))
    weights *= signs.astype(np.float16)
    program = Program("sums")
    program.add_input("x", x.shape, "f16")
    program.outputs = program.block.add_op("gemm", ["x", program.block.add_constant(weights)])
    sums = np.zeros((8, 8), np.float16)
    for a, b in zip(x.T[:terms], weights.T, strict=False):  # a rounding for each added product
        sums = (sums + np.outer(a.astype(np.float32), b)).astype(np.float16)
    part = regions.alone(program, program.ops[0])
    values = {"x": x, program.outputs[0]: sums}
    finding = findings.compare(findings.describe(program, 0, ()), part, values, Target.host())
    assert bool(finding.wrong) == is_wrong
