"""The outputs that a binary must compute."""

from __future__ import annotations

import numpy as np

import trimtab
from tests.pipeline.test_precision import larger
from trimtab.pipeline.loaded import load
from trimtab.pipeline.recipe import Recipe
from trimtab.pipeline.reference import expected_output, host_output
from trimtab.planner.plan_file import Plan


def test_expected_outputs_have_the_rounding_of_the_precisions() -> None:
    program = larger()
    half = Plan(precision="mixed", precisions={op.name: "f16" for op in program.ops})
    (exact,), (rounded,) = (host_output(program, plan).outputs for plan in (None, half))
    assert not np.array_equal(exact, rounded)
    np.testing.assert_allclose(rounded, exact, atol=0.01 * abs(exact).max())
    (x,) = host_output(program).inputs
    own = trimtab.Session(program, plan=half).run({"x": x})
    np.testing.assert_allclose(rounded, next(iter(own.values())), atol=2e-3 * abs(exact).max())


def test_the_tolerance_is_that_of_the_precision() -> None:
    f32, f16 = (
        expected_output(load(Recipe("squeezenet", plan=Plan(weights_type=kind))))
        for kind in ("f32", "f16")
    )
    assert (f32.precision, f16.precision) == ("f32", "f16")
    assert f32.oracle.startswith("onnxruntime")
    assert f16.tolerance > f32.tolerance
