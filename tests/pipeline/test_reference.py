"""The outputs that a binary must compute."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import trimtab
from tests.ops.cases.case import Array, Const, Graph, normal
from tests.pipeline.test_precision import larger
from trimtab.bench import golden
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


@pytest.mark.parametrize("keeps_io", [False, True])
def test_a_float16_file_that_is_computed_in_float32_is_right(
    keeps_io: bool, tmp_path: Path
) -> None:
    from onnxruntime.transformers import float16

    g = Graph()
    x: Array | str = normal(1, 8, 24, 24)
    for seed in "abc":
        weights = Const(normal(8, 8, 3, 3, seed=seed) * np.float32(0.2))
        x = g.node("Relu", g.node("Conv", x, weights, pads=[1] * 4))
    path = tmp_path / "half.onnx"
    onnx.save(float16.convert_float_to_float16(g.model(), keep_io_types=keeps_io), path)
    loaded = load(Recipe(str(path)))
    expected = expected_output(loaded)
    program = loaded.network.program
    feeds = dict(zip(program.inputs, expected.inputs, strict=True))
    (actual,) = trimtab.Session(program).run(feeds).values()
    golden.check(expected, 0, actual.tobytes())
    assert expected.precision == "f16"
