"""Quantized ONNX models in all forms, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import trimtab
from tests.importers.onnx_text import saved
from tests.ops.quantized import MICROSOFT, Array, QuantizedGraph, onnxruntime_of
from trimtab.errors import UnsupportedOperatorError
from trimtab.target import Target

X = (0.04, -7)
Y = (0.09, 12)


def run(model: onnx.ModelProto, feeds: dict[str, Array], folder: Path) -> list[Array]:
    path = folder / "case.onnx"
    path.write_bytes(model.SerializeToString())
    results = trimtab.Session(trimtab.load(path)).run(feeds)
    return [results[info.name] for info in model.graph.output]


def types(model: onnx.ModelProto, folder: Path) -> set[str]:
    path = folder / "case.onnx"
    path.write_bytes(model.SerializeToString())
    return {op.type for op in trimtab.optimize(trimtab.load(path), Target.host()).ops}


def _one(op: str, **attributes: Any) -> Callable[[QuantizedGraph], str]:
    def build(graph: QuantizedGraph) -> str:
        q = graph.quantize(graph.input(1, 6, 7, 5), *X)
        operands = (q, *graph.scale(*X), *graph.scale(*Y))
        return graph.node(op, *operands, domain=MICROSOFT, **attributes)

    return build


def _two(op: str) -> Callable[[QuantizedGraph], str]:
    def build(graph: QuantizedGraph) -> str:
        a = graph.quantize(graph.input(1, 6, 7, 5), *X)
        b = graph.quantize(graph.input(1, 6, 7, 5), 0.03, 5)
        operands = (a, *graph.scale(*X), b, *graph.scale(0.03, 5), *graph.scale(*Y))
        return graph.node(op, *operands, domain=MICROSOFT)

    return build


def _concat(graph: QuantizedGraph) -> str:
    a = graph.quantize(graph.input(1, 6, 7, 5), *X)
    b = graph.quantize(graph.input(1, 3, 7, 5), 0.03, 5)
    operands = (*graph.scale(*Y), a, *graph.scale(*X), b, *graph.scale(0.03, 5))
    return graph.node("QLinearConcat", *operands, domain=MICROSOFT, axis=1)


def _mat_mul(graph: QuantizedGraph) -> str:
    a = graph.quantize(graph.input(3, 16), *X)
    w, scale = graph.weights(16, 5)
    weights = [graph.constant(v) for v in (w, scale, np.int8(0))]
    return graph.node("QLinearMatMul", a, *graph.scale(*X), *weights, *graph.scale(*Y))


def _gemm(graph: QuantizedGraph) -> str:
    a = graph.quantize(graph.input(3, 16), *X)
    w, scale = graph.weights(5, 16, scales=5)
    weights = [graph.constant(v) for v in (w, scale, np.zeros(5, np.int8))]
    bias = graph.constant(graph.rng.integers(-300, 300, 5).astype(np.int32))
    operands = (a, *graph.scale(*X), *weights, bias, *graph.scale(*Y))
    return graph.node("QGemm", *operands, domain=MICROSOFT, transB=1)


def _max_pool(graph: QuantizedGraph) -> str:
    q = graph.quantize(graph.input(1, 20, 9, 8), *X)
    return graph.node("MaxPool", q, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])


OPERATORS: dict[str, tuple[Callable[[QuantizedGraph], str], int]] = {
    # The tolerance in output scales; 0: equal int8 values.
    "QLinearAdd": (_two("QLinearAdd"), 1),
    "QLinearMul": (_two("QLinearMul"), 1),
    "QLinearSigmoid": (_one("QLinearSigmoid"), 1),
    "QLinearLeakyRelu": (_one("QLinearLeakyRelu", alpha=0.2), 1),
    "QLinearGlobalAveragePool": (_one("QLinearGlobalAveragePool"), 1),
    "QLinearAveragePool": (_one("QLinearAveragePool", kernel_shape=[3, 2], strides=[2, 1]), 1),
    "QLinearSoftmax": (_one("QLinearSoftmax", opset=13, axis=1), 1),
    "QLinearConcat": (_concat, 0),
    "QLinearMatMul": (_mat_mul, 0),
    "QGemm": (_gemm, 0),
    "MaxPool": (_max_pool, 0),
}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", OPERATORS)
def test_a_quantized_operator_matches_onnxruntime(
    name: str, dtype: type[Any], tmp_path: Path
) -> None:
    build, steps = OPERATORS[name]
    graph = QuantizedGraph(dtype, seed=len(name))
    y = build(graph)
    model, feeds = graph.model(y), graph.feeds()
    (want,) = onnxruntime_of(model, feeds)
    (actual,) = run(model, feeds, tmp_path)
    assert (actual.dtype, actual.shape) == (want.dtype, want.shape)
    assert len(np.unique(want)) > 5
    assert np.abs(actual.astype(int) - want.astype(int)).max() <= steps


@pytest.mark.parametrize("attributes", [{}, {"axis": -1}, {"axis": 3}, {"axis": 2}, {"axis": -3}])
@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_the_opset_of_a_quantized_softmax_selects_its_axes(
    dtype: type[Any], opset: int, attributes: dict[str, int], tmp_path: Path
) -> None:
    graph = QuantizedGraph(dtype)
    operands = (*graph.scale(*X), *graph.scale(1 / 256, -128))
    q = graph.quantize(graph.input(2, 6, 4, 5), *X)
    y = graph.node("QLinearSoftmax", q, *operands, domain=MICROSOFT, opset=opset, **attributes)
    model, feeds = graph.model(y), graph.feeds()
    (want,) = onnxruntime_of(model, feeds)
    (actual,) = run(model, feeds, tmp_path)
    assert len(np.unique(want)) > 5
    np.testing.assert_array_equal(actual, want)


def network(dtype: type[Any]) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Quantized convolutions, addition, activations, max pooling and GEMM."""
    graph = QuantizedGraph(dtype, seed=3)
    x = graph.pair(graph.input(1, 3, 33, 31), 0.03, 5)
    wide: dict[str, Any] = {"pads": [1, 1, 1, 1]}
    y = graph.conv(x, 0.03, *graph.weights(24, 3, 3, 3, scales=24), strides=[2, 2], **wide)
    y = graph.pair(graph.node("Relu", y), 0.03, -128)
    y = graph.conv(y, 0.03, *graph.weights(24, 1, 3, 3, scales=24), group=24, **wide)
    y = graph.pair(graph.node("Clip", y, graph.constant(np.float32(0)), six(graph)), 6 / 255, -128)
    left = graph.pair(graph.conv(y, 6 / 255, *graph.weights(40, 24, 1, 1)), 0.1, -20)
    left = graph.pair(graph.node("MaxPool", left, kernel_shape=[2, 2], strides=[2, 2]), 0.1, -20)
    right = graph.pair(graph.conv(left, 0.1, *graph.weights(40, 40, 3, 3), **wide), 0.3, 10)
    y = graph.pair(graph.node("Add", left, right), 0.25, 4)
    gate = graph.pair(graph.node("Sigmoid", y), 1 / 256, -128)
    y = graph.pair(graph.node("Concat", gate, y, right, axis=1), 0.22, 0)
    y = graph.pair(graph.node("GlobalAveragePool", y), 0.05, 0)
    y = graph.pair(graph.node("Flatten", y), 0.05, 0)
    w, scale = graph.weights(10, 120, scales=10)
    y = graph.node("Gemm", y, graph.dequantized(w, scale), transB=1)
    y = graph.pair(y, 0.1, 0)
    return graph.model(y), graph.feeds()


def six(graph: QuantizedGraph) -> str:
    """The bound of ReLU6."""
    return graph.constant(np.float32(6))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_a_quantized_network_is_close_to_onnxruntime(dtype: type[Any], tmp_path: Path) -> None:
    model, feeds = network(dtype)
    assert not types(model, tmp_path) & {"conv", "conv_depthwise", "gemm", "add", "sigmoid"}
    (want,) = onnxruntime_of(model, feeds)
    (actual,) = run(model, feeds, tmp_path)
    assert np.abs(actual - want).max() <= 2 * 0.1 + 1e-6
    assert actual.argmax() == want.argmax()


def test_uint8_inputs_and_outputs_keep_their_type(tmp_path: Path) -> None:
    graph = QuantizedGraph(np.uint8)
    x = graph.node("DequantizeLinear", "pixels", *graph.scale(*X))
    w, scale = graph.weights(8, 3, 3, 3)
    y = graph.quantize(graph.conv(x, X[0], w, scale), *Y)
    graph.inputs["pixels"] = (1, 3, 9, 9)
    model = graph.model(y)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.UINT8
    feeds = {"pixels": np.random.default_rng(1).integers(0, 256, (1, 3, 9, 9)).astype(np.uint8)}
    (want,) = onnxruntime_of(model, feeds)
    (actual,) = run(model, feeds, tmp_path)
    assert "qlinear_conv" in types(model, tmp_path)
    assert actual.dtype == np.uint8
    np.testing.assert_array_equal(actual, want)


def test_weights_with_a_zero_point_are_dequantized(tmp_path: Path) -> None:
    graph = QuantizedGraph()
    q = graph.quantize(graph.input(1, 3, 8, 8), *X)
    w, scale = graph.weights(4, 3, 1, 1)
    weights = [graph.constant(v) for v in (w, scale, np.int8(5))]
    y = graph.node("QLinearConv", q, *graph.scale(*X), *weights, *graph.scale(*Y))
    model, feeds = graph.model(y), graph.feeds()
    assert "conv" in types(model, tmp_path)
    (want,) = onnxruntime_of(model, feeds)
    (actual,) = run(model, feeds, tmp_path)
    assert np.abs(actual.astype(int) - want.astype(int)).max() <= 1


def test_quantized_types_that_are_not_integers_are_refused(tmp_path: Path) -> None:
    text = """net (float[4] x) => (float[4] y) {
      q = QuantizeLinear (x, s, p)
      y = DequantizeLinear (q, s, p)
    }"""
    point = helper.make_tensor("p", TensorProto.FLOAT8E4M3FN, (), [0.0])
    saved(text, {"s": np.float32(1), "p": point}, tmp_path)
    with pytest.raises(UnsupportedOperatorError, match="its quantized type is float8"):
        trimtab.load(tmp_path / "net.onnx")
