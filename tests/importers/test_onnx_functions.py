"""Operators without a handler, of which ONNX says by which others they are computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import trimtab
from trimtab.errors import TrimtabError

RNG = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def model_of(
    nodes: list[onnx.NodeProto], inputs: dict[str, Any], outputs: list[str], opset: int
) -> onnx.ModelProto:
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    empty = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, "net", infos, empty)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def check(path: Path, model: onnx.ModelProto, inputs: dict[str, Any]) -> None:
    """The engine's results are those of ONNX's reference implementation."""
    onnx.save(model, path)
    expected = ReferenceEvaluator(model).run(None, inputs)
    result = trimtab.Session(trimtab.load(path)).run(inputs)
    assert [*result] == [info.name for info in model.graph.output]
    for output, want in zip(result.values(), expected, strict=True):
        np.testing.assert_allclose(output, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("attributes", [{}, {"is_causal": 1}, {"softcap": 2.0}, {"scale": 0.3}])
def test_attention(tmp_path: Path, attributes: dict[str, Any]) -> None:
    inputs = {"q": normal(2, 3, 5, 8), "k": normal(2, 3, 6, 8), "v": normal(2, 3, 6, 10)}
    node = helper.make_node("Attention", [*inputs], ["y"], **attributes)
    check(tmp_path / "net.onnx", model_of([node], inputs, ["y"], 23), inputs)


@pytest.mark.parametrize("opset", [23, 24])
@pytest.mark.parametrize("shape", [(3, 5), (1, 1, 3, 5), (2, 4, 3, 5)])
@pytest.mark.parametrize("kind", [bool, np.float32])
def test_attention_with_a_mask_is_that_of_onnxruntime(
    tmp_path: Path, opset: int, shape: tuple[int, ...], kind: Any
) -> None:
    inputs = {"q": normal(2, 4, 3, 8), "k": normal(2, 4, 5, 8), "v": normal(2, 4, 5, 8)}
    mask = RNG.random(shape) > 0.3
    mask[..., 0] = True  # no row without a key
    inputs["m"] = mask if kind is bool else np.where(mask, 0, -1e9).astype(np.float32)
    model = model_of([helper.make_node("Attention", [*inputs], ["y"])], inputs, ["y"], opset)
    model.ir_version = 11
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    (want,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)
    result = trimtab.Session(model, cache=False).run(inputs)["y"]
    np.testing.assert_allclose(result, want, 1e-5, 1e-6)


def test_attention_after_earlier_keys(tmp_path: Path) -> None:
    # An absent input, the mask, lies between those that are present.
    inputs = {name: normal(1, 2, 4, 8) for name in ("q", "k", "v")}
    inputs |= {"past_k": normal(1, 2, 3, 8), "past_v": normal(1, 2, 3, 8)}
    names = ["q", "k", "v", "", "past_k", "past_v"]
    node = helper.make_node("Attention", names, ["y", "k2", "v2"])
    check(tmp_path / "net.onnx", model_of([node], inputs, ["y", "k2", "v2"], 23), inputs)


def test_two_nodes_of_one_operator_have_values_of_their_own(tmp_path: Path) -> None:
    inputs = {"x": normal(1, 2, 4, 8), "cos": normal(1, 4, 4), "sin": normal(1, 4, 4)}
    nodes = [
        helper.make_node("RotaryEmbedding", [x, "cos", "sin"], [y], name)
        for x, y, name in (("x", "once", "first"), ("once", "twice", "second"))
    ]
    check(tmp_path / "net.onnx", model_of(nodes, inputs, ["twice"], 23), inputs)


def test_more_outputs_than_the_handler_makes(tmp_path: Path) -> None:
    inputs = {"x": normal(3, 4, 7), "scale": normal(7), "bias": normal(7)}
    outputs = ["y", "mean", "inverse"]
    node = helper.make_node("LayerNormalization", [*inputs], outputs)
    check(tmp_path / "net.onnx", model_of([node], inputs, outputs, 17), inputs)


def test_a_node_that_violates_its_operator_is_refused_by_name(tmp_path: Path) -> None:
    inputs = {"q": normal(2), "k": normal(3), "v": normal(4)}
    node = helper.make_node("Attention", [*inputs], ["y"], "broken")
    onnx.save(model_of([node], inputs, ["y"], 23), tmp_path / "net.onnx")
    with pytest.raises(TrimtabError, match="broken"):
        trimtab.load(tmp_path / "net.onnx")
