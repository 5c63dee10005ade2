"""Explanations: every layer of a file, what it becomes, and why others are refused."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import trimtab
from trimtab import tables
from trimtab.errors import UnsupportedOperatorError


def network(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    """x: float32[1, 3, 8, 8] -> y, with a 3x3 convolution of 4 outputs before `nodes`."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in "xy")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 8, 8))
    weights = numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    conv = helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], name="first")
    graph = helper.make_graph([conv, *nodes], "net", [x], [y], [weights])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


RELU = helper.make_node("Relu", ["c"], ["r"], name="second")
ODD = helper.make_node("Frobnicate", ["r"], ["f"], name="odd", domain="acme")
LAST = helper.make_node("Sigmoid", ["f"], ["y"], name="last")


def test_a_supported_network_has_weights_costs_and_shares_of_all_time() -> None:
    explained = trimtab.explain(network(helper.make_node("Relu", ["c"], ["y"], name="second")))
    conv, relu = explained.layers
    assert conv.operators == ("conv",)
    assert relu.operators == ("relu",)
    assert (conv.macs, conv.constant_bytes) == (4 * 3 * 3 * 3 * 8 * 8, 4 * 3 * 3 * 3 * 4)
    assert conv.share
    assert 0.9 < conv.share <= 1.0  # the rest converts layouts
    assert relu.share is None  # it is fused
    assert not explained.refused
    assert not explained.advice()
    assert "2 layers, all supported" in tables.text(explained.page())


def test_a_refused_layer_has_its_reason_and_what_would_help() -> None:
    explained = trimtab.explain(network(RELU, ODD, LAST))
    assert [layer.verdict for layer in explained.layers] == [
        *("conv", "relu", "not supported", "not checked: reads what is not supported")
    ]
    (odd,) = explained.refused
    assert odd.refused == ("the engine has no such operator",)
    assert explained.cuts == ("r",)
    page = tables.text(explained.page())
    assert page.splitlines()[-1].startswith("model: 4 layers, 1 not supported, 1 not checked, bec")
    assert "1 layers that cost nothing" not in page
    folded = tables.text(explained.page(whole=False))
    assert folded.splitlines()[-1] == page.splitlines()[-1]
    assert "2 layers that cost nothing are left out: --all shows them" in folded
    assert "second" not in folded
    assert "--tensor r" in folded
    assert "--tensor r` keeps 2 layers" in page
    document = json.loads(explained.to_json())
    assert document["layers"][2]["refused"] == list(odd.refused)
    assert document["advice"] == explained.advice()


def test_the_cut_that_it_proposes_loads_and_runs() -> None:
    model = network(RELU, ODD, LAST)
    with pytest.raises(UnsupportedOperatorError, match="inv explain") as caught:
        trimtab.load(model)
    assert "--tensor r" in caught.value.hint
    with pytest.raises(UnsupportedOperatorError):
        trimtab.load(model, outputs=["y"])
    program = trimtab.load(model, outputs=trimtab.explain(model).cuts)
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)
    padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    expected = np.maximum(windows.sum(axis=(0, 3, 4)), 0)
    (result,) = trimtab.Session(program).run(x).values()
    assert np.allclose(result[0], expected, atol=1e-5)  # the same sum for all four outputs


def wide(weights: np.ndarray) -> onnx.ModelProto:
    """x: float32[1, 16, 4, 4] -> y, a convolution by weights[32, 16, 3, 3]."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", (1, 16, 4, 4)), ("y", (1, 32, 2, 2)))
    )
    conv = helper.make_node("Conv", ["x", "w"], ["y"], name="conv")
    graph = helper.make_graph([conv], "net", [x], [y], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("weights", "form", "bits"),
    [("f32", "f32", 32), ("f16", "f16", 16), ("int8", "int8", 8), ("bits3", "bits3", 3)],
)
def test_a_layer_has_the_form_and_the_bytes_that_the_file_stores(
    weights: str, form: str, bits: int
) -> None:
    model = wide(np.random.default_rng(3).standard_normal((32, 16, 3, 3)).astype(np.float32))
    explained = trimtab.explain(model, plan=trimtab.Plan(weights_type=weights))
    (conv,) = explained.layers
    assert conv.stored.form == form
    expected = 32 * 16 * 9 * bits / 8
    assert expected <= conv.stored.bytes < 1.2 * expected + 400  # scales and a table
    assert (conv.stored.instructions > 0) == (form != "f32")
    assert ("stored as" in tables.text(explained.page())) == (form != "f32")


def test_operators_of_one_name_count_for_their_own_layer() -> None:
    explained = trimtab.explain("yolo_fastest")  # 0.252 GFLOP by its authors
    assert sum(layer.macs for layer in explained.layers) == pytest.approx(126e6, rel=0.02)
    assert sum(layer.share or 0.0 for layer in explained.layers) == pytest.approx(1.0, abs=0.02)
