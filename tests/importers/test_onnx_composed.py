"""Normalizations that the importer composes of several operators, against float64 formulas.

ONNX defines them as functions; its shape inference and onnxruntime do not support every version.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.ops.cases.case import Array, normal
from trimtab import importers
from trimtab.errors import ImportModelError
from trimtab.program import Program
from trimtab.session import Session


def load(
    folder: Path, op_type: str, opset: int, x: Array, *constants: Array, **attributes: Any
) -> Program:
    names = [f"c{i}" for i in range(len(constants))]
    graph = helper.make_graph(
        [helper.make_node(op_type, ["x", *names], ["y"], **attributes)],
        "composed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)],
        [numpy_helper.from_array(c, name) for c, name in zip(constants, names, strict=True)],
    )
    path = folder / "net.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    path.write_bytes(model.SerializeToString())
    return importers.load(path)


def assert_computes(program: Program, x: Array, want: Array) -> None:
    np.testing.assert_allclose(Session(program).run({"x": x})["y"], want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
@pytest.mark.parametrize("opset", [18, 21])
@pytest.mark.parametrize("shape", [(2, 6, 5, 7), (2, 6, 9)])
def test_groups_of_channels_are_normalized(
    tmp_path: Path, groups: int, opset: int, shape: tuple[int, ...]
) -> None:
    x = normal(*shape) * 2 + 1
    count = groups if opset == 18 else 6
    scale, bias = normal(count), normal(count, seed="bias")
    rows = x.astype(np.float64).reshape(2, groups, -1)
    rows = rows - rows.mean(-1, keepdims=True)
    rows /= np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-3)
    want = rows.reshape(2, 6, -1) * np.repeat(scale, 6 // count)[:, None]
    want = (want + np.repeat(bias, 6 // count)[:, None]).reshape(shape)
    attributes = {"num_groups": groups, "epsilon": 1e-3}
    program = load(tmp_path, "GroupNormalization", opset, x, scale, bias, **attributes)
    assert_computes(program, x, want)


def test_groups_that_do_not_divide_the_channels_are_an_error(tmp_path: Path) -> None:
    x, ones = normal(1, 6, 3), np.ones(6, np.float32)
    with pytest.raises(ImportModelError, match="4 groups do not divide 6 channels"):
        load(tmp_path, "GroupNormalization", 21, x, ones, ones, num_groups=4)


@pytest.mark.parametrize("axis", [1, -1, 2])
def test_rows_are_divided_by_their_root_mean_square(tmp_path: Path, axis: int) -> None:
    x = normal(2, 3, 4, 5)
    scale = normal(*x.shape[axis:])
    axes = tuple(range(axis % 4, 4))
    mean = (x.astype(np.float64) ** 2).mean(axes, keepdims=True)
    program = load(tmp_path, "RMSNormalization", 23, x, scale, axis=axis)
    assert_computes(program, x, x / np.sqrt(mean + 1e-5) * scale)


@pytest.mark.parametrize("axes", [(0, 2, 3), (2, 3), (-1,)])
def test_mean_and_deviation_are_normalized(tmp_path: Path, axes: tuple[int, ...]) -> None:
    x = normal(2, 3, 4, 5) * 3 + 2
    exact = x.astype(np.float64)
    want = (exact - exact.mean(axes, keepdims=True)) / exact.std(axes, keepdims=True)
    program = load(tmp_path, "MeanVarianceNormalization", 13, x, axes=axes)
    assert_computes(program, x, want)
