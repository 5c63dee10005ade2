"""ONNX constants: sparse ones, damaged ones, and nodes that cannot be computed at import."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.ops import oracle
from tests.ops.cases.case import Array, normal
from trimtab.errors import ImportModelError, ModelFileError, UnsupportedOperatorError
from trimtab.importers import load
from trimtab.session import Session

FLOAT = TensorProto.FLOAT
X = normal(2, 6)
WEIGHTS: Array = np.array([[0, 1.5, 0], [0, 0, -2], [0, 0, 0], [3, 0, 0], [0] * 3, [0] * 3], "f4")


def sparse(by_axis: bool = False, **changes: Any) -> onnx.SparseTensorProto:
    """WEIGHTS; `changes` replaces its values, indices or dims."""
    places = np.argwhere(WEIGHTS) if by_axis else np.flatnonzero(WEIGHTS)
    parts = {"values": WEIGHTS[WEIGHTS != 0], "indices": places, "dims": WEIGHTS.shape} | changes
    return helper.make_sparse_tensor(
        onnx.numpy_helper.from_array(np.asarray(parts["values"]), "w"),
        onnx.numpy_helper.from_array(np.asarray(parts["indices"], np.int64), "i"),
        [int(size) for size in parts["dims"]],
    )


def network(
    *nodes: onnx.NodeProto, weights: onnx.SparseTensorProto | None = None
) -> onnx.ModelProto:
    """A model x: [2, 6] -> y."""
    x = helper.make_tensor_value_info("x", FLOAT, X.shape)
    y = helper.make_tensor_value_info("y", FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y])
    if weights is not None:
        graph.sparse_initializer.append(weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


PRODUCT = helper.make_node("MatMul", ["x", "w"], ["y"], "product")


@pytest.mark.parametrize("form", ["initializer", "constant"])
@pytest.mark.parametrize("by_axis", [False, True])
def test_sparse_constants_are_computed_as_onnxruntime_does(form: str, by_axis: bool) -> None:
    if form == "initializer":
        model = network(PRODUCT, weights=sparse(by_axis))
    else:
        node = helper.make_node("Constant", [], ["w"], sparse_value=sparse(by_axis))
        model = network(node, PRODUCT)
    expected = oracle.run(model, {"x": X})["y"]
    np.testing.assert_allclose(Session(load(model)).run({"x": X})["y"], expected, 1e-6)


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": np.array([1, 5, 18])},
        {"indices": np.array([-1, 5, 9])},
        {"indices": np.array([[0, 1], [1, 3], [3, 0]])},
        {"indices": np.array([1, 5])},
    ],
)
def test_sparse_constants_with_wrong_indices_are_damaged(changes: dict[str, Array]) -> None:
    with pytest.raises(ModelFileError, match="'w': is damaged: its indices"):
        load(network(PRODUCT, weights=sparse(False, **changes)))


def test_a_small_file_with_a_huge_sparse_constant_is_refused() -> None:
    huge = sparse(dims=np.array([2**20, 2**20]))
    with pytest.raises(ImportModelError, match="far more than the weights"):
        load(network(PRODUCT, weights=huge))


def test_an_initializer_with_too_few_elements_is_damaged() -> None:
    model = network(PRODUCT)
    model.graph.initializer.add(name="w", data_type=FLOAT, dims=[6, 3], raw_data=b"1234")
    with pytest.raises(ModelFileError) as caught:
        load(model)
    assert "'w'" in caught.value.where
    assert caught.value.what == "is damaged: its data are not [6, 3] elements of type float32"


def constants(*values: Array) -> list[onnx.NodeProto]:
    """Constants a, b, ..."""
    return [
        helper.make_node("Constant", [], [name], value=onnx.numpy_helper.from_array(value))
        for name, value in zip("abc", values, strict=False)
    ]


def test_a_constant_node_that_fails_is_reported_in_our_words_with_its_name() -> None:
    wrong = helper.make_node("Range", ["a", "b", "b"], ["w"], "steps")  # a step of 0
    nodes = constants(np.array(0), np.array(0))
    nodes.append(wrong)
    nodes.append(helper.make_node("Add", ["x", "w"], ["y"]))
    with pytest.raises(UnsupportedOperatorError) as caught:
        load(network(*nodes))
    assert "node 'steps': Range (opset 17): its inputs are constant, but its result" in str(
        caught.value
    )


def test_a_constant_node_with_operands_that_do_not_match_is_an_error_of_its_shapes() -> None:
    nodes = constants(np.ones((2, 3), np.float32), np.ones((2, 4), np.float32))
    nodes.append(helper.make_node("Add", ["a", "b"], ["w"], "sum"))
    nodes.append(helper.make_node("Add", ["x", "w"], ["y"]))
    with pytest.raises(ImportModelError, match="'sum'") as caught:
        load(network(*nodes))
    assert "could not be broadcast" not in str(caught.value)  # numpy's words


def test_a_constant_without_a_value_is_an_error() -> None:
    empty = helper.make_node("Constant", [], ["w"], "empty")
    with pytest.raises(ImportModelError, match=r"'empty'.*a constant has one value, it has 0"):
        load(network(empty, PRODUCT))


def test_a_model_without_opsets_says_so() -> None:
    model = network(helper.make_node("Relu", ["x"], ["y"]))
    del model.opset_import[:]
    with pytest.raises(ModelFileError, match="does not declare the opset") as caught:
        load(model)
    assert "truncated" not in str(caught.value)
    assert "make_opsetid" in caught.value.hint
