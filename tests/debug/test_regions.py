"""Regions of a network compute what the whole network computes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.debug.networks import small
from trimtab import passes
from trimtab.bench.golden import MAX_STEPS
from trimtab.debug import findings, regions
from trimtab.session import Session
from trimtab.target import Target


def test_regions_between_known_tensors_compute_the_network() -> None:
    program = passes.optimize(small())
    x = np.random.default_rng(1).standard_normal((1, 3, 13, 11)).astype(np.float32)
    values = {"x": x}
    cuts = [op.outputs for op in program.ops if op.type in ("max_pool", "reshape", "softmax")]
    assert len(cuts) == 3
    sizes = []
    for outputs in cuts:
        part = regions.region(program, {*values}, outputs)
        sizes.append(len(part.program.ops))
        computed = part.compute(values, Target.portable(Target.host().arch))
        values |= dict(zip(part.outputs, computed, strict=True))
    assert sum(sizes) > len(program.ops)  # each operator once, and conversions at the ends
    expected = Session(small()).run({"x": x})[program.outputs[0]]
    np.testing.assert_allclose(values[program.outputs[0]], expected, rtol=1e-4, atol=1e-6)


def test_a_region_computes_with_the_values_that_it_is_given() -> None:
    program = passes.optimize(small())
    pool = next(op for op in program.ops if op.type == "max_pool")
    part = regions.region(program, {*pool.inputs}, pool.outputs)
    x = np.arange(32 * 7 * 6, dtype=np.float32).reshape(1, 32, 7, 6)
    (y,) = part.compute({pool.inputs[0]: x}, Target.portable(Target.host().arch))
    assert y.shape == (1, 32, 4, 3)
    assert y.max() == x.max()


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
