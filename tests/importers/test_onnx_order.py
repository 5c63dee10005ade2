"""ONNX nodes in any order, also those of subgraphs and functions; the oracle is onnxruntime."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.ops import oracle
from tests.ops.cases.case import normal
from trimtab.errors import ImportModelError
from trimtab.importers import load
from trimtab.session import Session

FLOAT = TensorProto.FLOAT
X = normal(2, 3)


def info(name: str, kind: int = FLOAT, shape: Sequence[int] = (2, 3)) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def network(
    nodes: Sequence[onnx.NodeProto],
    constants: Sequence[onnx.TensorProto] = (),
    functions: Sequence[onnx.FunctionProto] = (),
    y: str = "y",
) -> onnx.ModelProto:
    """A model x -> y of nodes in this order."""
    graph = helper.make_graph(nodes, "g", [info("x")], [info(y)], constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)


def assert_equal_to_onnxruntime(model: onnx.ModelProto) -> None:
    actual = Session(load(model)).run({"x": X})
    for name, expected in oracle.run(model, {"x": X}).items():
        np.testing.assert_allclose(actual[name], expected, 1e-6, 1e-6)


def test_a_reader_may_stand_before_the_node_that_computes_its_input() -> None:
    nodes = [helper.make_node("Relu", ["a"], ["y"]), helper.make_node("Neg", ["x"], ["a"])]
    assert_equal_to_onnxruntime(network(nodes))


@pytest.mark.parametrize("seed", range(8))
def test_nodes_in_a_random_order_are_computed_as_onnxruntime_does(seed: int) -> None:
    rng = random.Random(seed)
    nodes = [
        helper.make_node(rng.choice(["Sum", "Max"]), ["x", f"v{rng.randrange(i)}"], [f"v{i}"])
        for i in range(1, 20)
    ]
    nodes.append(helper.make_node("Abs", ["x"], ["v0"]))
    rng.shuffle(nodes)
    assert_equal_to_onnxruntime(network(nodes, y="v19"))


def test_sorted_nodes_keep_their_order() -> None:
    nodes = [helper.make_node(op, ["x"], [op]) for op in ("Tanh", "Abs", "Neg", "Relu", "Exp")]
    nodes.append(helper.make_node("Sum", ["Exp", "Abs"], ["y"]))
    program = load(network(nodes))
    assert [op.type for op in program.ops] == ["tanh", "abs", "neg", "relu", "exp", "add"]


def test_the_nodes_of_a_branch_may_have_any_order() -> None:
    branch = [helper.make_node("Relu", ["b"], ["c"]), helper.make_node("Neg", ["a"], ["b"])]
    branches = {
        name: helper.make_graph(branch, name, [], [info("c")])
        for name in ("then_branch", "else_branch")
    }
    nodes = [
        helper.make_node("If", ["condition"], ["y"], **branches),
        helper.make_node("Tanh", ["x"], ["a"]),  # only the branches read it
    ]
    condition = helper.make_tensor("condition", TensorProto.BOOL, [], [True])
    # onnxruntime refuses such branches.
    actual = Session(load(network(nodes, [condition]))).run({"x": X})["y"]
    np.testing.assert_allclose(actual, np.maximum(-np.tanh(X), 0), 1e-6, 1e-6)


def test_branches_of_two_nodes_may_use_the_same_names() -> None:
    def branches(op: str) -> dict[str, onnx.GraphProto]:
        nodes = [helper.make_node(op, ["x"], ["b"]), helper.make_node("Add", ["b", "w"], ["c"])]
        weights = helper.make_tensor("w", FLOAT, [], [len(op)])
        graph = helper.make_graph(nodes, op, [], [info("c")], [weights])
        return {"then_branch": graph, "else_branch": graph}

    nodes = [
        helper.make_node("If", ["condition"], ["p"], **branches("Relu")),
        helper.make_node("If", ["condition"], ["q"], **branches("Neg")),
        helper.make_node("Sub", ["p", "q"], ["y"]),
    ]
    condition = helper.make_tensor("condition", TensorProto.BOOL, [], [True])
    assert_equal_to_onnxruntime(network(nodes, [condition]))


def test_the_nodes_of_a_function_may_have_any_order() -> None:
    body = [helper.make_node("Relu", ["t"], ["b"]), helper.make_node("Neg", ["a"], ["t"])]
    opsets = [helper.make_opsetid("", 17)]
    function = helper.make_function("own", "Flipped", ["a"], ["b"], body, opsets)
    call = helper.make_node("Flipped", ["x"], ["y"], domain="own")
    program = load(network([call], functions=[function]))
    assert [op.type for op in program.ops] == ["neg", "relu"]


def test_a_cycle_is_an_error_that_names_its_nodes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="outside"),
        helper.make_node("Add", ["r", "c"], ["a"], name="first"),
        helper.make_node("Neg", ["a"], ["b"], name="second"),
        helper.make_node("Abs", ["b"], ["c"], name="third"),
        helper.make_node("Neg", ["c"], ["y"], name="last"),
    ]
    path = tmp_path / "net.onnx"
    onnx.save(network(nodes), path)
    with pytest.raises(ImportModelError) as caught:
        load(path)
    assert caught.value.what == "its nodes form a cycle: second -> third -> first -> second"
    assert str(path) in str(caught.value)


def test_a_node_that_reads_its_own_output_is_a_cycle() -> None:
    with pytest.raises(ImportModelError, match="cycle: y -> y"):
        load(network([helper.make_node("Add", ["x", "y"], ["y"])]))


def test_a_cycle_through_a_branch_is_a_cycle() -> None:
    branch = helper.make_graph([helper.make_node("Neg", ["a"], ["c"])], "b", [], [info("c")])
    nodes = [
        helper.make_node("If", ["condition"], ["y"], "if", then_branch=branch, else_branch=branch),
        helper.make_node("Tanh", ["y"], ["a"], "tanh"),
    ]
    condition = helper.make_tensor("condition", TensorProto.BOOL, [], [True])
    with pytest.raises(ImportModelError, match="cycle: tanh -> if -> tanh"):
        load(network(nodes, [condition]))


def test_many_nodes_in_reverse_order_are_sorted() -> None:
    nodes = [helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"]) for i in range(3000)]
    nodes[0].input[0] = "x"
    program = load(network(nodes[::-1], y="v3000"))
    assert len(program.ops) == 3000
