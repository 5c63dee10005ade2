"""Quantized convolutions and GEMMs: exactly the specified int8 values, and onnxruntime's."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import numpy_helper

import trimtab
from tests.ops.quantized import Array, QuantizedGraph, onnxruntime_of
from trimtab.target import Target

pytestmark = pytest.mark.bounds

Shape = tuple[int, ...]

# id: input, weights, attributes. Channel counts with and without a remainder by the kernels' step.
CONVOLUTIONS: dict[str, tuple[Shape, Shape, dict[str, Any]]] = {
    "1x1": ((1, 16, 9, 7), (24, 16, 1, 1), {}),
    "1x1-odd": ((2, 5, 6, 7), (3, 5, 1, 1), {}),
    "1x1-few-channels": ((1, 8, 11, 13), (4, 8, 1, 1), {}),
    "1x1-stride-2": ((1, 12, 9, 9), (17, 12, 1, 1), {"strides": [2, 2]}),
    "3x3": ((1, 16, 10, 11), (20, 16, 3, 3), {"pads": [1, 1, 1, 1]}),
    "3x3-few-channels": ((1, 3, 13, 12), (8, 3, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "7x7-stride-2": ((2, 3, 30, 27), (20, 3, 7, 7), {"strides": [2, 2], "pads": [3, 3, 3, 3]}),
    "3x5-no-padding": ((1, 3, 9, 40), (33, 3, 3, 5), {}),
    "5x3-dilated": (
        (1, 8, 14, 13),
        (9, 8, 5, 3),
        {"pads": [2, 0, 3, 1], "dilations": [2, 1]},
    ),
    "3x3-dilated-odd": (
        (2, 7, 9, 12),
        (5, 7, 3, 3),
        {"pads": [2, 2, 2, 2], "dilations": [2, 2]},
    ),
    "groups-odd": ((1, 9, 8, 8), (6, 3, 3, 3), {"group": 3, "pads": [1, 1, 1, 1]}),
    "groups": ((1, 12, 8, 8), (18, 4, 3, 3), {"group": 3, "pads": [1, 1, 1, 1]}),
    "depthwise": ((2, 20, 9, 8), (20, 1, 3, 3), {"group": 20, "pads": [1, 1, 1, 1]}),
    "depthwise-5x5-stride-2": (
        (1, 33, 11, 12),
        (33, 1, 5, 5),
        {"group": 33, "strides": [2, 2], "pads": [2, 2, 2, 2]},
    ),
    "depthwise-few-channels": ((1, 3, 8, 8), (3, 1, 3, 3), {"group": 3}),
    "depthwise-8-channels": ((1, 8, 13, 70), (8, 1, 3, 3), {"group": 8, "pads": [1, 1, 1, 1]}),
    "depthwise-4-channels": ((2, 4, 9, 35), (4, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
    "depthwise-8-channels-5x5": (
        (1, 8, 7, 21),
        (8, 1, 5, 5),
        {"group": 8, "pads": [2, 2, 2, 2]},
    ),
    "depthwise-7-channels-stride-2": (
        (2, 7, 23, 12),
        (7, 1, 5, 5),
        {"group": 7, "strides": [2, 2], "pads": [2, 2, 2, 2]},
    ),
    "depthwise-5x5": ((1, 40, 13, 19), (40, 1, 5, 5), {"group": 40, "pads": [2, 2, 2, 2]}),
    "depthwise-5x3": ((1, 34, 9, 11), (34, 1, 5, 3), {"group": 34, "pads": [2, 1, 2, 1]}),
    "1d": ((1, 6, 21), (7, 6, 4), {"strides": [2], "pads": [1, 2]}),
}


def exact_sums(x: Array, w: Array, bias: Array, x_point: int, attributes: Any) -> Array:
    """The exact accumulators with bias, by onnx's reference on float64, as float32."""
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], **attributes)
    values = {"x": x.astype(np.float64) - x_point, "w": w.astype(np.float64)}
    infos = [onnx.helper.make_tensor_value_info(k, 11, v.shape) for k, v in values.items()]
    out = onnx.helper.make_empty_tensor_value_info("y")
    graph = onnx.helper.make_graph([node], "sums", infos, [out])
    imports = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)
    results: Any = onnx.reference.ReferenceEvaluator(model).run(None, values)
    sums = np.asarray(results[0])
    exact = (sums + by_channel(bias, sums)).astype(np.int32)
    return np.asarray(exact, np.float32)


def by_channel(numbers: Array, sums: Array) -> Array:
    """Per-channel values, reshaped to broadcast against the accumulators."""
    return numbers.reshape(-1, *[1] * (sums.ndim - 2))


def numpy_rule(sums: Array, factors: Array, point: int) -> Array:
    """rint(f32(sum) f32((sx sw) / sy)) + point."""
    places = np.rint(sums * by_channel(factors, sums)) + point
    rule: Array = np.clip(places, -128, 127).astype(np.int8)
    return rule


@pytest.mark.parametrize("scales", ["one", "by channel", "some large"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_convolution_equals_onnxruntime_and_the_specification(
    name: str, dtype: type[Any], scales: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, weights, attributes = CONVOLUTIONS[name]
    graph = QuantizedGraph(dtype, seed=len(name))
    w, w_scale = graph.weights(*weights, scales=1 if scales == "one" else weights[0])
    if scales == "some large":  # intermediate products exceed 32 bits
        w_scale[1::4], w_scale[2::8] = 40, 1e12
    bias = graph.rng.integers(-3000, 3000, len(w)).astype(np.int32)
    x_scale, x_point, y_scale, y_point = 0.04, 9, 0.11, -21
    q = graph.quantize(graph.input(*shape), x_scale, x_point)
    points = graph.constant(np.zeros(np.shape(w_scale), np.int8))
    operands = (graph.constant(w), graph.constant(w_scale), points)
    y = graph.node(
        "QLinearConv",
        *(q, *graph.scale(x_scale, x_point)),
        *operands,
        *graph.scale(y_scale, y_point),
        graph.constant(bias),
        **attributes,
    )
    model, feeds = graph.model(y, q), graph.feeds()
    want, x = onnxruntime_of(model, feeds)
    shift = 128 if dtype is np.uint8 else 0
    factors = np.float32(x_scale) * np.broadcast_to(w_scale, len(w)) / np.float32(y_scale)
    sums = exact_sums((x.astype(np.int16) - shift).astype(np.int8), w, bias, x_point, attributes)
    rule = numpy_rule(sums, factors, y_point)
    np.testing.assert_array_equal(want.astype(np.int16) - shift, rule)

    program = trimtab.load(model)
    types = {op.type for op in trimtab.optimize(program, Target.host()).ops}
    assert types & {"qlinear_conv", "qlinear_conv_depthwise"}
    assert "conv" not in types
    for isa in Target.host().isas:
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        for threads in (1, 3):
            actual = trimtab.Session(program, threads).run(feeds)
            np.testing.assert_array_equal(actual[y], want)


def real_sums(name: str, per_channel: bool) -> tuple[onnx.ModelProto, dict[str, Array], Array]:
    """A quantized convolution with a float32 output, its feeds, and the exact result."""
    shape, weights, attributes = CONVOLUTIONS[name]
    graph = QuantizedGraph(np.int8, seed=len(name))
    w, w_scale = graph.weights(*weights, scales=weights[0] if per_channel else 1)
    q = graph.quantize(graph.input(*shape), 0.04, 9)
    x = graph.node("DequantizeLinear", q, *graph.scale(0.04, 9))
    y = graph.conv(x, 0.04, w, w_scale, **attributes)
    bias = numpy_helper.to_array(graph.constants[-3])
    feeds = graph.feeds()
    theirs, integers = onnxruntime_of(graph.model(y, q), feeds)
    sums = exact_sums(integers, w, bias, 9, attributes)
    units = np.float32(0.04) * np.broadcast_to(w_scale, len(w))
    want = sums * by_channel(units, sums)
    np.testing.assert_allclose(want, theirs, rtol=1e-5, atol=1e-4)  # which sums float32
    return graph.model(y), feeds, want


# 1-D weights are reshaped after DequantizeLinear, so they are computed in float32.
WITH_SUMS = [name for name in CONVOLUTIONS if name != "1d" and not name.startswith("depthwise")]


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("name", WITH_SUMS)
def test_a_convolution_without_output_quantization_returns_float32_sums(
    name: str, per_channel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, feeds, want = real_sums(name, per_channel)
    program = trimtab.load(model)
    types = {op.type for op in trimtab.optimize(program, Target.host()).ops}
    assert "qlinear_conv" in types
    assert not types & {"conv", "dequantize_linear"}
    for isa in Target.host().isas:
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        for threads in (1, 3):
            (actual,) = trimtab.Session(program, threads).run(feeds).values()
            np.testing.assert_array_equal(actual, want)


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("k", [16, 30])
def test_a_gemm_without_output_quantization_returns_float32_sums(
    rows: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = QuantizedGraph(np.uint8, seed=k)
    q = graph.quantize(graph.input(rows, k), 0.03, 4)
    w, scale = graph.weights(k, 11, scales=11)
    x = graph.node("DequantizeLinear", q, *graph.scale(0.03, 4))
    y = graph.node("Gemm", x, graph.dequantized(w, scale, 1))
    program, feeds = trimtab.load(graph.model(y)), graph.feeds()
    operands = graph.constant(w), graph.constant(graph.point(4))
    sums = graph.node("MatMulInteger", q, *operands)
    (exact,) = onnxruntime_of(graph.model(sums), feeds)
    want = exact.astype(np.float32) * (np.float32(0.03) * scale)
    assert "gemm" not in {op.type for op in trimtab.optimize(program, Target.host()).ops}
    for isa in Target.host().isas:
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        np.testing.assert_array_equal(trimtab.Session(program).run(feeds)[y], want)


@pytest.mark.parametrize("k", [16, 30])
@pytest.mark.parametrize("transposed", [True, False])
def test_a_gemm_equals_onnxruntime(k: int, transposed: bool) -> None:
    graph = QuantizedGraph(seed=k)
    x = graph.pair(graph.input(5, k), 0.03, 4)
    w, scale = graph.weights(*((11, k) if transposed else (k, 11)), scales=11)
    bias = graph.rng.integers(-500, 500, 11).astype(np.int32)
    weights = graph.dequantized(w, scale, 0 if transposed else 1)
    y = graph.node(
        "Gemm", x, weights, graph.dequantized(bias, np.float32(0.03) * scale), transB=transposed
    )
    out = graph.pair(y, 0.05, -3)
    model, feeds = graph.model(out), graph.feeds()
    program = trimtab.load(model)
    assert "qlinear_conv" in {op.type for op in trimtab.optimize(program, Target.host()).ops}
    (want,) = onnxruntime_of(model, feeds)
    np.testing.assert_array_equal(trimtab.Session(program).run(feeds)[out], want)


def test_padding_holds_the_zero_point() -> None:
    graph = QuantizedGraph()
    x = graph.pair(graph.input(1, 4, 3, 3), 0.1, 50)
    w = np.ones((4, 4, 3, 3), np.int8)
    y = graph.pair(graph.conv(x, 0.1, w, np.float32(0.5), pads=[1, 1, 1, 1]), 8.0, 0)
    feeds = {"x0": np.zeros((1, 4, 3, 3), np.float32)}
    actual = trimtab.Session(trimtab.load(graph.model(y))).run(feeds)[y]
    (want,) = onnxruntime_of(graph.model(y), feeds)
    np.testing.assert_array_equal(actual, want)
    # Every pixel of a channel equals its bias, also at the padding.
    assert all(len(set(channel.ravel().tolist())) == 1 for channel in actual[0])


@pytest.mark.parametrize("scales", [(0.03, 0.05, 0.07), (0.02, 0.02, 0.04), (0.05, 0.01, 0.013)])
def test_a_sum_of_int8_tensors_equals_onnxruntime(
    scales: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The second pair gives ties, whose rounding depends on where the zero point is added.
    graph = QuantizedGraph(np.int8, seed=5)
    a, b, y = scales
    operands = (
        graph.pair(graph.input(1, 30, 40, 41), a, 7),
        graph.pair(graph.input(1, 30, 40, 41), b, -31),
    )
    out = graph.pair(graph.node("Add", *operands), y, 11)
    model, feeds = graph.model(out), graph.feeds()
    program = trimtab.load(model)
    assert "qlinear_add" in {op.type for op in trimtab.optimize(program, Target.host()).ops}
    (want,) = onnxruntime_of(model, feeds)
    for isa in Target.host().isas:
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        np.testing.assert_array_equal(trimtab.Session(program).run(feeds)[out], want)
