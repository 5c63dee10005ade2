"""Quantized ONNX models with scales of 0, which dead channels have, against onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import trimtab
from tests.importers.test_onnx_quantized import X, Y, run, types
from tests.ops import oracle
from tests.ops.quantized import Array, QuantizedGraph, onnxruntime_of
from trimtab.errors import ImportModelError


def weights(graph: QuantizedGraph, *shape: int, dead: int) -> tuple[Array, Array]:
    """int8 weights, of which each `dead`-th output channel has the scale 0."""
    w, scales = graph.weights(*shape, scales=shape[0])
    scales[::dead] = 0
    return w, scales


def assert_equal(model: onnx.ModelProto, feeds: dict[str, Array], folder: Path) -> list[Array]:
    """Asserts outputs equal to those of onnxruntime, which it returns."""
    expected = onnxruntime_of(model, feeds)
    for actual, want in zip(run(model, feeds, folder), expected, strict=True):
        assert actual.dtype == want.dtype
        np.testing.assert_array_equal(actual, want)
    return expected


@pytest.mark.parametrize("dead", [3, 1])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_dead_channels_of_a_convolution_are_computed_on_int8_values(
    dtype: type[Any], dead: int, tmp_path: Path
) -> None:
    graph = QuantizedGraph(dtype)
    x = graph.pair(graph.input(1, 5, 9, 8), *X)
    w, scales = weights(graph, 8, 5, 3, 3, dead=dead)
    bias = graph.rng.integers(-9000, 9000, 8).astype(np.int32)
    operands = graph.dequantized(w, scales), graph.dequantized(bias, scales * np.float32(X[0]))
    y = graph.quantize(graph.node("Conv", x, *operands), *Y)
    model = graph.model(y)
    (want,) = assert_equal(model, graph.feeds(), tmp_path)
    assert len(np.unique(want[:, ::dead])) == 1
    assert "qlinear_conv" in types(model, tmp_path)


def test_a_dead_channel_keeps_its_float_bias(tmp_path: Path) -> None:
    graph = QuantizedGraph()
    x = graph.pair(graph.input(1, 5, 9, 8), *X)
    w, scales = weights(graph, 8, 5, 3, 3, dead=3)
    bias = graph.constant(graph.rng.normal(size=8).astype(np.float32))
    y = graph.quantize(graph.node("Conv", x, graph.dequantized(w, scales), bias), *Y)
    model, feeds = graph.model(y), graph.feeds()
    # With optimizations, onnxruntime quantizes the bias with the scale 0 and loses it.
    want = oracle.run(model, feeds)[y]
    (actual,) = run(model, feeds, tmp_path)
    assert np.abs(actual.astype(int) - want.astype(int)).max() <= 1


def test_a_dead_channel_of_qlinear_conv_is_its_zero_point(tmp_path: Path) -> None:
    graph = QuantizedGraph()
    q = graph.quantize(graph.input(1, 5, 9, 8), *X)
    w, scales = weights(graph, 8, 5, 3, 3, dead=3)
    operands = [graph.constant(v) for v in (w, scales, np.zeros(8, np.int8))]
    bias = graph.constant(graph.rng.integers(-900, 900, 8).astype(np.int32))
    y = graph.node("QLinearConv", q, *graph.scale(*X), *operands, *graph.scale(*Y), bias)
    (want,) = assert_equal(graph.model(y), graph.feeds(), tmp_path)
    assert set(want[:, ::3].flat) == {Y[1]}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_a_tensor_with_the_scale_0_is_saturated_and_then_0(
    dtype: type[Any], tmp_path: Path
) -> None:
    graph = QuantizedGraph(dtype)
    x = graph.input(2, 9)
    q = graph.quantize(x, 0, 5)
    model = graph.model(q, graph.pair(x, 0, 5))
    feeds = graph.feeds()
    feeds["x0"][0, :3] = 0
    stored, values = assert_equal(model, feeds, tmp_path)
    limits = np.iinfo(dtype)
    assert set(stored.flat) == {limits.min, limits.max}
    assert not values.any()


def test_dead_channels_of_a_computed_tensor_are_0(tmp_path: Path) -> None:
    graph = QuantizedGraph()
    scales = np.array([0.05, 0, 0.1, 0], np.float32)
    points = np.array([3, -4, 0, 7], np.int8)
    operands = graph.constant(scales), graph.constant(points)
    q = graph.node("QuantizeLinear", graph.input(2, 4, 6), *operands, axis=1)
    y = graph.node("DequantizeLinear", q, *operands, axis=1)
    assert_equal(graph.model(q, y), graph.feeds(), tmp_path)


def test_a_negative_scale_is_refused(tmp_path: Path) -> None:
    graph = QuantizedGraph()
    scale = graph.constant(np.float32(-1))
    graph.nodes.append(helper.make_node("QuantizeLinear", [graph.input(2, 4), scale], ["q"]))
    path = tmp_path / "case.onnx"
    path.write_bytes(graph.model("q").SerializeToString())
    with pytest.raises(ImportModelError, match="scale 0 is -1"):
        trimtab.load(path)
