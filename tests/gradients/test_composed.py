"""Gradients through operators that importers compose of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from tests.gradients.case import Case, factors
from tests.gradients.composed_cases import composed_cases
from tests.gradients.test_rules import assert_gradients_agree

CASES = {case.id: case for case in composed_cases()}


def model(case: Case, result: tuple[int, ...]) -> onnx.ModelProto:
    """op(x, ...) * factors + p: its sum has the gradient of the case."""
    constants = {f"operand{i}": value for i, value in enumerate(case.operands) if i}
    constants |= {"factors": factors(case)[0], "p": np.zeros(1, np.float32)}
    attributes = dict(case.attributes)
    if "axes" in attributes:
        constants["axes"] = np.array(attributes.pop("axes"))
    operands = ["x", *(name for name in constants if name not in ("factors", "p"))]
    nodes = [
        helper.make_node(case.op, operands, ["y"], case.id, **attributes),
        helper.make_node("Mul", ["y", "factors"], ["product"]),
        helper.make_node("Add", ["product", "p"], ["sum"]),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, case.operands[0].shape)],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, result)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)


@pytest.mark.parametrize("id", CASES)
def test_the_gradient_of_a_composed_operator_equals_central_differences(id: str) -> None:
    case = CASES[id]
    network = trimtab.load(model(case, factors(case)[0].shape))
    built = trimtab.training(network, loss="sum", trainable=["p"], force_backward=["x"])
    trainer = trimtab.Trainer(built)
    inputs: dict[str, Any] = {"x": case.operands[0]}
    trainer.step(inputs)
    assert_gradients_agree(case, [trainer.input_gradients["x"]])
