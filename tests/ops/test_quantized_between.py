"""Int8 operators between convolutions (add, mul, pooling, tables): near onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.ops.quantized import Array, QuantizedGraph, onnxruntime_of
from trimtab.target import Target

pytestmark = pytest.mark.bounds

A, B, Y = (0.04, -7), (0.03, 5), (0.09, 12)
IMAGE = (2, 20, 9, 7)
LARGE = (2, 90, 29, 23)  # threads divide it into several blocks

OF_REAL_NUMBERS = {"mul", "average_pool", "global_average_pool", "sigmoid", "tanh", "transpose"}

Build = Callable[[QuantizedGraph], str]


def _mul(
    shape: tuple[int, ...],
    image: tuple[int, ...] = IMAGE,
    *,
    turned: bool = False,
    relu: bool = False,
) -> Build:
    def build(graph: QuantizedGraph) -> str:
        operands = [graph.pair(graph.input(*image), *A), graph.pair(graph.input(*shape), *B)]
        y = graph.node("Mul", *(operands[::-1] if turned else operands))
        return graph.quantize(graph.node("Relu", y) if relu else y, *Y)

    return build


def _pool(**attributes: Any) -> Build:
    def build(graph: QuantizedGraph) -> str:
        x = graph.pair(graph.input(*IMAGE), *A)
        return graph.quantize(graph.node("AveragePool", x, **attributes), 0.02, 12)

    return build


def _mean(shape: tuple[int, ...]) -> Build:
    def build(graph: QuantizedGraph) -> str:
        x = graph.pair(graph.input(*shape), *A)
        return graph.quantize(graph.node("GlobalAveragePool", x), 0.003, 12)

    return build


def _swish(graph: QuantizedGraph) -> str:
    x = graph.pair(graph.input(*IMAGE), *A)
    gate = graph.pair(graph.node("Sigmoid", x), 1 / 256, -128)
    return graph.quantize(graph.node("Mul", x, gate), 0.03, -100)


def _shuffle(graph: QuantizedGraph) -> str:
    """ShuffleNet's channel shuffle, quantized after each operator."""
    n, c, h, w = 2, 74, 5, 3
    y = graph.pair(graph.input(n, c, h, w), *A)
    split = graph.constant(np.array([n, 2, c // 2, h, w]))
    y = graph.pair(graph.node("Reshape", y, split), *A)
    y = graph.pair(graph.node("Transpose", y, perm=[0, 2, 1, 3, 4]), *A)
    return graph.quantize(graph.node("Reshape", y, graph.constant(np.array([n, c, h, w]))), *A)


def _square(graph: QuantizedGraph) -> str:
    x = graph.pair(graph.input(*IMAGE), *A)
    return graph.quantize(graph.node("Mul", x, x), 0.2, -128)


def _table_of_a_table(graph: QuantizedGraph) -> str:
    x = graph.pair(graph.input(*IMAGE), *A)
    y = graph.pair(graph.node("Tanh", x), 1 / 128, 0)
    return graph.quantize(graph.node("Sigmoid", y), 1 / 256, -128)


# Operator type, and the allowed error in units of the scale: tables skip a rounding of onnxruntime.
CASES: dict[str, tuple[Build, str, int]] = {
    "mul": (_mul(IMAGE), "qlinear_mul", 1),
    "mul-relu": (_mul(IMAGE, relu=True), "qlinear_mul", 1),
    "mul-per-channel": (_mul((2, 20, 1, 1)), "qlinear_mul", 1),
    "mul-per-channel-turned": (_mul((2, 20, 1, 1), turned=True), "qlinear_mul", 1),
    "mul-per-channel-large": (_mul((2, 90, 1, 1), LARGE), "qlinear_mul", 1),
    "mean": (_mean(IMAGE), "qlinear_mean", 1),
    "mean-large": (_mean(LARGE), "qlinear_mean", 1),
    "pool": (_pool(kernel_shape=[3, 2], strides=[2, 1]), "qlinear_average_pool", 1),
    "pool-padded": (
        _pool(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        "qlinear_average_pool",
        1,
    ),
    "pool-counted": (
        _pool(kernel_shape=[3, 3], pads=[1, 0, 1, 1], count_include_pad=1),
        "qlinear_average_pool",
        1,
    ),
    "pool-ceil": (
        _pool(kernel_shape=[2, 3], strides=[2, 3], ceil_mode=1),
        "qlinear_average_pool",
        1,
    ),
    "shuffle": (_shuffle, "channel_shuffle", 0),
    "swish": (_swish, "look_up", 1),
    "square": (_square, "look_up", 1),
    "table-of-a-table": (_table_of_a_table, "look_up", 1),
}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", CASES)
def test_an_operator_between_convolutions_is_near_onnxruntime(
    name: str, dtype: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    build, op, steps = CASES[name]
    graph = QuantizedGraph(dtype, seed=len(name))
    y = build(graph)
    model, feeds = graph.model(y), graph.feeds()
    (want,) = onnxruntime_of(model, feeds)
    assert len(np.unique(want)) > 20
    program = trimtab.load(model)
    types = {o.type for o in trimtab.optimize(program, Target.host()).ops}
    assert op in types
    assert not types & OF_REAL_NUMBERS
    for isa in Target.host().isas:
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        for threads in (1, 3):
            actual = trimtab.Session(program, threads).run(feeds)[y]
            assert (actual.dtype, actual.shape) == (want.dtype, want.shape)
            assert np.abs(actual.astype(int) - want.astype(int)).max() <= steps


def numpy_product(a: Array, b: Array, points: tuple[int, int, int], scale: np.float32) -> Array:
    """round(float((a - za) (b - zb)) * scale) + zy on int8 values, half to even."""
    product = (a.astype(np.int32) - points[0]) * (b.astype(np.int32) - points[1])
    places = np.rint(product.astype(np.float32) * scale) + points[2]
    rule: Array = np.clip(places, -128, 127).astype(np.int8)
    return rule


@pytest.mark.parametrize("shape", [IMAGE, (2, 20, 1, 1)])
def test_a_product_equals_the_specification(shape: tuple[int, ...]) -> None:
    graph = QuantizedGraph(seed=2)
    a = graph.quantize(graph.input(*IMAGE), *A)
    b = graph.quantize(graph.input(*shape), *B)
    reals = [graph.node("DequantizeLinear", q, *graph.scale(*s)) for q, s in ((a, A), (b, B))]
    y = graph.quantize(graph.node("Mul", *reals), *Y)
    actual = trimtab.Session(trimtab.load(graph.model(a, b, y))).run(graph.feeds())
    scale = np.float32(A[0]) * np.float32(B[0]) / np.float32(Y[0])
    np.testing.assert_array_equal(
        actual[y], numpy_product(actual[a], actual[b], (A[1], B[1], Y[1]), scale)
    )
