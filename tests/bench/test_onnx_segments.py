"""Models with custom nodes, run in segments; onnxruntime runs the same model without them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from trimtab.bench import onnx_segments, oracle
from trimtab.bench.onnx_segments import CustomNodes
from trimtab.errors import ImportModelError

RNG = np.random.default_rng(4)
WEIGHTS = RNG.normal(size=(3, 2, 1, 1)).astype(np.float32)
Array = NDArray[Any]


def model(type: str, domain: str) -> onnx.ModelProto:
    """A convolution, a node of that type with a constant operand, and a sum around both, which is
    also read by a branch; the nodes are in no order.
    """
    float32 = TensorProto.FLOAT
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["sum"], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, float32, None)],
        )
        for name, op in (("then", "Relu"), ("else", "Neg"))
    }
    nodes = [
        helper.make_node("If", ["yes"], ["y"], **branches),
        helper.make_node("Add", ["scaled", "c"], ["sum"]),
        helper.make_node(type, ["c", "two"], ["scaled"], domain=domain),
        helper.make_node(
            "Constant", [], ["two"], value=numpy_helper.from_array(np.array(2, np.float32))
        ),
        helper.make_node("Conv", ["x", "w"], ["c"]),
    ]
    if not domain:
        nodes.reverse()  # the checker of onnx wants them in order
    constants = {"w": WEIGHTS, "yes": np.array(True)}
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", float32, (1, 2, 4, 5))],
        [helper.make_tensor_value_info(name, float32, None) for name in ("y", "scaled")],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def doubled(part: onnx.ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """The output of a segment with the custom node, whose second operand is a constant of it."""
    (node,) = part.graph.node
    (factor,) = part.graph.initializer
    assert factor.name == node.input[1]
    return [inputs[node.input[0]] * numpy_helper.to_array(factor)]


CUSTOM = CustomNodes(lambda node: node.domain == "my.domain", doubled, "numpy")


def test_a_model_with_custom_nodes_computes_what_onnxruntime_does_with_standard_ones(
    tmp_path: Path,
) -> None:
    onnx.save(model("Scale", "my.domain"), tmp_path / "net.onnx")
    golden = oracle.onnx_golden(tmp_path / "net.onnx", {}, CUSTOM)
    content = model("Mul", "").SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    expected = session.run(None, {"x": golden.inputs[0]})
    for array, right in zip(golden.outputs, expected, strict=True):
        np.testing.assert_allclose(array, right, rtol=1e-6)
    assert golden.oracle.endswith("; numpy")


def test_a_model_without_custom_nodes_runs_as_a_whole(tmp_path: Path) -> None:
    onnx.save(model("Mul", ""), tmp_path / "net.onnx")
    assert "numpy" not in oracle.onnx_golden(tmp_path / "net.onnx", {}, CUSTOM).oracle


def test_custom_nodes_in_functions_of_the_model_are_computed() -> None:
    whole = model("Twice", "own")
    body = [
        helper.make_node("Scale", ["a", "b"], ["c"], domain="my.domain"),
        helper.make_node("Identity", ["c"], ["d"]),
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
    whole.functions.append(helper.make_function("own", "Twice", ["a", "b"], ["d"], body, opsets))
    whole.opset_import.append(helper.make_opsetid("own", 1))
    assert onnx_segments.has_custom_nodes(whole, CUSTOM)

    def standard(part: onnx.ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
        session = onnxruntime.InferenceSession(
            part.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        return list(session.run(None, dict(inputs)))

    x = RNG.normal(size=(1, 2, 4, 5)).astype(np.float32)
    _, scaled = onnx_segments.run(whole, {"x": x}, CUSTOM, standard)
    np.testing.assert_allclose(scaled, 2 * np.einsum("oc,nchw->nohw", WEIGHTS[:, :, 0, 0], x))


def test_operands_that_nothing_computes_are_an_error(tmp_path: Path) -> None:
    damaged = model("Scale", "my.domain")
    del damaged.graph.node[3]
    damaged.graph.node.append(helper.make_node("Relu", ["three"], ["two"]))
    damaged.graph.node.append(helper.make_node("Relu", ["two"], ["three"]))
    onnx.save(damaged, tmp_path / "net.onnx")
    with pytest.raises(ImportModelError, match="nothing computes the operands of"):
        oracle.onnx_golden(tmp_path / "net.onnx", {}, CUSTOM)
