"""The golden outputs of ONNX models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from trimtab.bench import oracle
from trimtab.errors import DynamicShapeError, ImportModelError, ModelFileError


def write_model(path: Path, shape: list[int | str], op: str = "Abs") -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"])], "g", [x], [y])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


@pytest.mark.parametrize("has_onnxruntime", [True, False])
def test_expected_outputs_are_those_of_the_source_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_onnxruntime: bool
) -> None:
    if not has_onnxruntime:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    golden = oracle.onnx_golden(write_model(tmp_path / "m.onnx", [1, 4]), {})
    assert np.array_equal(golden.outputs[0], np.abs(golden.inputs[0]))
    assert golden.inputs[0].std() > 0.1
    assert ("onnxruntime" in golden.oracle) == has_onnxruntime


def test_free_dimensions_must_be_given(tmp_path: Path) -> None:
    path = write_model(tmp_path / "m.onnx", ["batch", 4])
    with pytest.raises(DynamicShapeError, match="input x"):
        oracle.onnx_golden(path, {})
    assert oracle.onnx_golden(path, {"x": (3, 4)}).outputs[0].shape == (3, 4)


def test_a_file_that_is_no_model_and_a_model_that_does_not_run_are_errors(tmp_path: Path) -> None:
    (tmp_path / "noise.onnx").write_bytes(b"\xff" * 50)
    for missing in ("noise.onnx", "none.onnx"):
        with pytest.raises(ModelFileError):
            oracle.onnx_golden(tmp_path / missing, {})
    with pytest.raises(ImportModelError, match="the reference output cannot be computed"):
        oracle.onnx_golden(write_model(tmp_path / "m.onnx", [1, 4], op="NoSuchOperator"), {})


def test_an_input_without_dimensions_has_the_value_that_is_given(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    rate = helper.make_tensor_value_info("rate", TensorProto.FLOAT, [])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("Mul", ["x", "rate"], ["y"])], "g", [x, rate], [y])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "m.onnx")
    golden = oracle.onnx_golden(tmp_path / "m.onnx", {"rate": (3,)})
    (drawn,), (result,) = golden.inputs, golden.outputs
    np.testing.assert_array_equal(result, 3 * drawn)
