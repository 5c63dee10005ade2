"""Weights of float networks whose values are those of int8 with scales."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from trimtab.planner.packing import Array, Storage
from trimtab.planner.packing.int8 import exact_scales
from trimtab.planner.plan_file import Plan, plan_of
from trimtab.program import Var
from trimtab.target import Target

RNG = np.random.default_rng(11)
A53 = Target.of("aarch64", "cortex-a53")


def network(path: Path, steps: Array, scales: Array) -> Path:
    """A convolution by weights that are stored as int8, with a scale for each output channel."""
    node = helper.make_node
    graph = helper.make_graph(
        [
            node("DequantizeLinear", ["q", "s", "z"], ["w"], axis=0),
            node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1]),
        ],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, steps.shape[1], 5, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, len(steps), 5, 5])],
        [
            numpy_helper.from_array(array, name)
            for name, array in (("q", steps), ("s", scales), ("z", np.zeros(len(scales), np.int8)))
        ],
    )
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


def test_weights_of_dequantize_linear_stay_int8_and_compute_the_same(tmp_path: Path) -> None:
    steps = RNG.integers(-128, 128, (19, 12, 3, 3), np.int8)
    steps[:, 0, 0, 0] = 127
    np.maximum(steps, -127, out=steps)
    scales = RNG.uniform(1e-3, 0.1, 19).astype(np.float32)
    program = trimtab.load(network(tmp_path / "net.onnx", steps, scales))
    planned = trimtab.optimize(program, A53, Plan(("direct",)))
    (stored,) = (var for var in planned.constants() if var.packed and len(var.shape) == 4)
    assert stored.dtype == "i8"
    assert np.asarray(stored.data).nbytes == steps.size
    assert plan_of(planned).weights_type == "f32"
    x = {"x": RNG.standard_normal((1, 12, 5, 5)).astype(np.float32)}
    exact = Plan(("direct",), prefer="load")
    (expected,) = trimtab.Session(program, plan=exact).run(x).values()
    (result,) = trimtab.Session(program, plan=Plan(("direct",))).run(x).values()
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("largest", [1, 7, 100, 127])
def test_scales_are_found_from_the_values_alone(largest: int) -> None:
    steps = RNG.integers(-largest, largest + 1, (40, 60), np.int8)
    steps[:, 0], steps[7] = largest, 0
    scales = (RNG.uniform(0.01, 10, (40, 1)) * 10.0 ** RNG.integers(-6, 6, (40, 1))).astype("f4")
    w = steps * scales
    result = exact_scales(w, 0)
    assert result is not None
    live = np.where(result > 0, result, 1)
    np.testing.assert_array_equal(np.rint(w / live[:, None]) * result[:, None], w)
    assert np.abs(np.rint(w / live[:, None])).max() <= 127


def test_other_weights_have_no_scales() -> None:
    w = RNG.standard_normal((8, 64)).astype(np.float32)
    steps = RNG.integers(-127, 128, (8, 64)).astype(np.float32)
    steps[3, 5] = 0.5  # between two steps
    for data in (w, steps, np.full((2, 20), np.inf, np.float32)):
        assert exact_scales(data, 0) is None
    assert Storage(True).form_of(Var("w", w.shape, data=w), 0) == "f32"


def test_a_packed_constant_has_the_form_of_its_dtype() -> None:
    shape = (32, 16, 1, 1)
    data = RNG.standard_normal(512).astype(np.float32)  # one a row: scales fit any value
    assert Storage(True).form_of(Var("w", shape, data=data, packed=True), 0) == "f32"
