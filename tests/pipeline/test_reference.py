"""The outputs that a binary must compute."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.ops.cases.case import Array, Const, Graph, normal
from tests.pipeline.test_precision import larger
from tests.small_programs import Net
from trimtab.bench import golden
from trimtab.bench.golden import HALF_TOLERANCE
from trimtab.bench.jobs import Settings
from trimtab.errors import ImportModelError, WrongOutputError
from trimtab.pipeline import reference
from trimtab.pipeline.loaded import load
from trimtab.pipeline.recipe import MeasurementRequest, Recipe
from trimtab.pipeline.reference import expected_output, host_output, simulated_rounding
from trimtab.planner.plan_file import Plan
from trimtab.program.quantization import Quantization


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


def one_convolution(folder: Path, weights: Array) -> Path:
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="c")],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])],
        [numpy_helper.from_array(weights, "w")],
    )
    path = folder / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(value: float, tmp_path: Path) -> None:
    weights = np.ones((4, 3, 1, 1), np.float32)
    weights[2, 1] = value
    with pytest.raises(ImportModelError, match="1 of 12 weights of conv 'c' are NaN or inf"):
        load(Recipe(model=str(one_convolution(tmp_path, weights))))


def test_a_float32_reference_that_is_infinite_is_refused_unless_accepted(tmp_path: Path) -> None:
    model = one_convolution(tmp_path, np.full((4, 3, 1, 1), 3e38, np.float32))
    settings = Settings()
    for accept in (False, True):
        measurement = MeasurementRequest(settings=replace(settings, accept_wrong=accept))
        loaded = load(Recipe(model=str(model), measurement=measurement))
        if accept:
            assert not np.isfinite(expected_output(loaded).outputs[0]).all()
        else:
            with pytest.raises(WrongOutputError, match=r"onnxruntime .* computes NaN or infinity"):
                expected_output(loaded)


def test_the_bound_of_f16_follows_from_the_rounding_that_is_simulated_here(tmp_path: Path) -> None:
    net = Net(x=(1, 16, 12, 12))
    large = net("add", net("relu", net.conv("x", 32, 3)), 3000.0)
    program = net.finish(net("sub", large, 3000.0))  # loses most of its bits
    x = normal(1, 16, 12, 12)
    half = Plan(precision="f16")
    (loss,) = simulated_rounding(program, half, [x])
    (exact,) = trimtab.Session(program).run({"x": x}).values()
    (actual,) = trimtab.Session(program, plan=half).run({"x": x}).values()
    assert loss.max_error == pytest.approx(np.abs(exact - actual).max() / np.abs(exact).max())
    assert loss.max_error > HALF_TOLERANCE
    assert simulated_rounding(program, Plan(), [x])[0].max_error == 0.0


def test_an_output_of_several_quantized_tensors_has_the_scale_of_the_coarsest() -> None:
    program = trimtab.Program("net")
    parts = []
    for i, scale in enumerate((0.25, 0.5, 0.125)):
        x = program.add_input(f"x{i}", (1, 2), "i8")
        program.vars[x].quantization = Quantization.of(scale)
        parts += program.block.add_op("dequantize_linear", [x])
    program.outputs = [
        *program.block.add_op("add", parts[:2]),
        *program.block.add_op("add", [parts[0], parts[2]]),
        *program.block.add_op("add", [parts[2], parts[2]]),
    ]
    assert host_output(program).scales == [0.5, 0.25, 0.125]


def test_the_scale_of_an_operator_is_that_of_its_coarsest_operand() -> None:
    program = trimtab.Program("net")
    operands = []
    for i, scale in enumerate((0.25, 0.5)):
        operands.append(program.add_input(f"x{i}", (1, 2), "i8"))
        program.vars[operands[-1]].quantization = Quantization.of(scale)
    program.outputs = program.block.add_op("qlinear_add", operands)
    assert reference.output_scales(program) == [0.5]
