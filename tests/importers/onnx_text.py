"""Networks in ONNX's text form, compared with onnxruntime without optimizations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import trimtab
from tests.ops import oracle
from tests.ops.cases.case import Array

HEADER = '<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1]> '


def model_of(text: str, constants: Mapping[str, Any], opset: int = 21) -> onnx.ModelProto:
    """Parses a graph, and adds its constants, which are arrays or tensors."""
    model = onnx.parser.parse_model(HEADER.format(opset=opset) + text)
    for name, value in constants.items():
        is_tensor = isinstance(value, onnx.TensorProto)
        tensor = value if is_tensor else onnx.numpy_helper.from_array(np.asarray(value), name)
        model.graph.initializer.append(tensor)
    return model


def saved(
    text: str, constants: Mapping[str, Any], folder: Path, opset: int = 21
) -> onnx.ModelProto:
    """`model_of`, written as net.onnx."""
    model = model_of(text, constants, opset)
    onnx.save(model, folder / "net.onnx")
    return model


def assert_matches(
    text: str,
    inputs: Mapping[str, Array],
    constants: Mapping[str, Any],
    folder: Path,
    opset: int = 21,
    tolerance: float = 1e-5,
) -> None:
    """Asserts that the outputs of a network are those of onnxruntime.

    `tolerance` is relative to the largest value of an output.
    """
    model = saved(text, constants, folder, opset)
    expected = oracle.run(model, dict(inputs))
    actual = trimtab.Session(folder / "net.onnx", cache=False).run(dict(inputs))
    assert list(actual) == list(expected)
    for name, want in expected.items():
        assert (actual[name].dtype, actual[name].shape) == (want.dtype, want.shape)
        limit = tolerance * max(1.0, float(np.abs(want).max(initial=0)))
        np.testing.assert_allclose(actual[name], want, 0, limit, err_msg=name)
