"""Element types of inputs. onnxruntime is the oracle: it refuses what this refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import trimtab
from trimtab.errors import CalibrationError, UsageError
from trimtab.quantization import samples

TYPES = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool")
INPUTS = ("float32", "int32", "int64", "uint8", "int8", "bool")
SHAPE = (1, 3, 2, 2)


def identity(dtype: str) -> onnx.ModelProto:
    """x -> x as a tensor of shape [2, 6]."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        "identity",
        [helper.make_tensor_value_info("x", element, SHAPE)],
        [helper.make_tensor_value_info("y", element, (2, 6))],
        [helper.make_tensor("shape", TensorProto.INT64, (2,), (2, 6))],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9)


def values(dtype: str) -> np.ndarray:
    return (np.arange(12) % 2).reshape(SHAPE).astype(dtype)


@pytest.mark.parametrize("dtype", INPUTS)
def test_a_session_accepts_the_element_types_that_onnxruntime_accepts(dtype: str) -> None:
    model = identity(dtype)
    oracle = onnxruntime.InferenceSession(model.SerializeToString())
    session = trimtab.Session(model)
    for actual in TYPES:
        x = values(actual)
        try:
            (expected,) = oracle.run(None, {"x": x})
        except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument:
            with pytest.raises(UsageError, match=f"'x' is {actual}, the model expects {dtype}"):
                session.run({"x": x})
        else:
            np.testing.assert_array_equal(session.run({"x": x})["y"], expected, strict=True)


@pytest.mark.parametrize("actual", TYPES)
def test_cast_converts_values_as_numpy_does(actual: str) -> None:
    session = trimtab.Session(identity("float32"))
    (y,) = session.run({"x": values(actual) * 2}, cast=True).values()
    expected = (values(actual) * 2).astype("float32").reshape(2, 6)
    np.testing.assert_array_equal(y, expected, strict=True)


def test_the_pixels_of_a_picture_are_refused_with_a_way_out() -> None:
    session = trimtab.Session(identity("float32"))
    with pytest.raises(UsageError) as caught:
        session.run({"x": values("uint8")})
    assert "normalize it" in caught.value.hint
    assert "cast=True" in caught.value.hint


def test_the_other_byte_order_is_the_same_type() -> None:
    session = trimtab.Session(identity("int32"))
    x = np.arange(12, dtype=">i4").reshape(SHAPE)
    np.testing.assert_array_equal(session.run({"x": x})["y"].reshape(SHAPE), x)


@pytest.mark.parametrize(
    ("dtype", "numbers", "fits"),
    [
        ("float32", [0.5] * 12, True),
        ("float32", [1] * 12, True),
        ("float32", [True] * 12, True),
        ("int32", [-7] * 12, True),
        ("int32", [0.5] * 12, False),
        ("uint8", [255] * 12, True),
        ("uint8", [256] * 12, False),
        ("uint8", [-1] * 12, False),
        ("bool", [1] * 12, False),
        ("float32", [2 + 1j] * 12, False),
        ("float32", ["a"] * 12, False),
        ("float32", [[1, 2], [3]], False),
        ("float32", None, False),
    ],
)
def test_lists_of_numbers_become_the_type_of_the_input(
    dtype: str, numbers: Any, fits: bool
) -> None:
    session = trimtab.Session(identity(dtype))
    is_full = isinstance(numbers, list) and len(numbers) == 12
    nested = np.reshape(numbers, SHAPE).tolist() if is_full else numbers
    if not fits:
        with pytest.raises(UsageError, match="input 'x'"):
            session.run({"x": nested})
        return
    (y,) = session.run({"x": nested}).values()
    np.testing.assert_array_equal(y, np.full((2, 6), numbers[0], dtype), strict=True)


@pytest.mark.parametrize("actual", ["uint8", "float64", "float16"])
def test_calibration_samples_follow_the_same_rule(tmp_path: Path, actual: str) -> None:
    inputs = {"x": (SHAPE, "float32")}
    array = np.stack([values(actual)] * 5)
    path = tmp_path / "samples.npz"
    np.savez(path, x=array)
    with pytest.raises(CalibrationError, match=f"'x' is {actual}, the model expects float32"):
        samples.of_arrays({"x": array}, inputs)
    with pytest.raises(CalibrationError, match="expects float32") as caught:
        samples.of_archive(path, inputs)
    assert str(path) in caught.value.where
    assert "--cast" in caught.value.hint
    for data in (
        samples.of_arrays({"x": array}, inputs, cast=True),
        samples.of_archive(path, inputs, cast=True),
    ):
        assert data.count == 5
        np.testing.assert_array_equal(data.feed(4)["x"], values("float32"), strict=True)
