"""Leaky ReLU and PReLU in the epilogue of quantized convolutions, before rounding: exactly
onnxruntime's PRelu and QuantizeLinear of the exact accumulators.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

import trimtab
from tests.ops.quantized import Array, QuantizedGraph, onnxruntime_of
from tests.ops.test_quantized import CONVOLUTIONS, by_channel, exact_sums
from tests.some import some
from trimtab.errors import ProgramError
from trimtab.planner.plan_file import Plan
from trimtab.quantization import quantize
from trimtab.target import Target

pytestmark = pytest.mark.bounds

WINDOWS = {name: case for name, case in CONVOLUTIONS.items() if name != "1d"} | {
    "tiles": ((2, 19, 9, 7), (33, 19, 3, 3), {"pads": [1, 1, 1, 1]}),
}
PRODUCTS = {"qlinear_conv", "qlinear_conv_depthwise", "qlinear_conv_winograd"}
X_SCALE, X_POINT, Y_SCALE, Y_POINT = 0.04, 9, 0.11, -21


def slopes_for(kind: str, channels: int, rng: np.random.Generator) -> Array:
    """One slope for all channels or one per channel, including the ends of the kernels' range."""
    if kind == "leaky":
        return np.array([0.1], np.float32)
    result = rng.uniform(-1, 1, channels).astype(np.float32)
    result[: min(3, channels)] = (-1, 1, 0)[: min(3, channels)]
    return result


def sloped(graph: QuantizedGraph, x: str, kind: str, slopes: Array, behind: int = 2) -> str:
    """Applies the activation to `x`; `behind`: the number of dimensions after the channels."""
    if kind == "leaky":
        return graph.node("LeakyRelu", x, alpha=float(slopes[0]))
    return graph.node("PRelu", x, graph.constant(slopes.reshape(-1, *[1] * behind)))


def rounded(products: Array, slopes: Array, point: int) -> Array:
    """onnxruntime's int8 values for the scaled sums [n, c, h, w]."""
    graph = QuantizedGraph()
    x = graph.input(*products.shape)
    y = sloped(graph, x, "prelu", slopes, products.ndim - 2)
    model = graph.model(graph.quantize(y, 1.0, point))
    (result,) = onnxruntime_of(model, {x: products})
    return result


def case(name: str, kind: str) -> tuple[onnx.ModelProto, dict[str, Array], Array]:
    """A convolution with the activation and quantized output; its feeds; the exact values."""
    shape, weights, attributes = WINDOWS[name]
    graph = QuantizedGraph(seed=len(name))
    w, w_scale = graph.weights(*weights, scales=weights[0])
    q = graph.quantize(graph.input(*shape), X_SCALE, X_POINT)
    x = graph.node("DequantizeLinear", q, *graph.scale(X_SCALE, X_POINT))
    y = graph.conv(x, X_SCALE, w, w_scale, **attributes)
    bias = onnx.numpy_helper.to_array(graph.constants[-3])
    slopes = slopes_for(kind, len(w), graph.rng)
    result = graph.quantize(sloped(graph, y, kind, slopes), Y_SCALE, Y_POINT)
    feeds = graph.feeds()
    (integers,) = onnxruntime_of(graph.model(q), feeds)
    sums = exact_sums(integers, w, bias, X_POINT, attributes)
    factors = np.float32(X_SCALE) * w_scale / np.float32(Y_SCALE)
    want = rounded(sums * by_channel(factors, sums), slopes, Y_POINT)
    assert len(np.unique(want)) > 20
    return graph.model(result), feeds, want


@pytest.mark.parametrize("kind", ["leaky", "prelu"])
@pytest.mark.parametrize("name", WINDOWS)
def test_a_slope_is_applied_before_rounding(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, feeds, want = case(name, kind)
    program = trimtab.load(model)
    plans = [Plan(("quantized", "quantized_depthwise"))]
    if name == "tiles":
        plans.append(Plan(("quantized_winograd",)))
    for isa in some(Target.host().isas):
        monkeypatch.setenv("TRIMTAB_ISA", isa)
        for plan in plans:
            for threads in (1, 3):
                session = trimtab.Session(program, threads, plan=plan)
                types = {op.type for op in session.program.ops}
                assert types & PRODUCTS
                assert ("qlinear_conv_winograd" in types) == (plan is not plans[0])
                assert not types & {"conv", "leaky_relu", "prelu", "look_up"}
                (actual,) = session.run(feeds).values()
                np.testing.assert_array_equal(actual, want)


def test_a_slope_is_applied_before_rounding_with_pixel_packing() -> None:
    model, feeds, want = case("1x1-few-channels", "prelu")
    planned = trimtab.optimize(trimtab.load(model), Target.host())
    (conv,) = (op for op in planned.ops if op.type == "qlinear_conv")
    assert conv.attributes["fold"] > 1
    (actual,) = trimtab.Session(planned).run(feeds).values()
    np.testing.assert_array_equal(actual, want)


def test_a_slope_is_applied_before_rounding_after_a_gemm() -> None:
    graph = QuantizedGraph(seed=4)
    q = graph.quantize(graph.input(5, 30), X_SCALE, X_POINT)
    w, scales = graph.weights(30, 11, scales=11)
    x = graph.node("DequantizeLinear", q, *graph.scale(X_SCALE, X_POINT))
    y = graph.node("Gemm", x, graph.dequantized(w, scales, 1))
    slopes = slopes_for("prelu", 11, graph.rng)
    result = graph.quantize(sloped(graph, y, "prelu", slopes, 0), Y_SCALE, Y_POINT)
    model, feeds = graph.model(result), graph.feeds()
    sums = graph.node("MatMulInteger", q, graph.constant(w), graph.constant(graph.point(X_POINT)))
    (exact,) = onnxruntime_of(graph.model(sums), feeds)
    factors = np.float32(X_SCALE) * scales / np.float32(Y_SCALE)
    want = rounded(exact.astype(np.float32) * factors, slopes, Y_POINT)
    session = trimtab.Session(trimtab.load(model))
    assert not {op.type for op in session.program.ops} & {"gemm", "prelu"}
    (actual,) = session.run(feeds).values()
    np.testing.assert_array_equal(actual, want)


def test_clamps_apply_after_slopes() -> None:
    graph = QuantizedGraph(seed=5)
    w, scales = graph.weights(20, 16, 1, 1, scales=20)
    x = graph.pair(graph.input(1, 16, 9, 9), X_SCALE, X_POINT)
    y = sloped(graph, graph.conv(x, X_SCALE, w, scales), "leaky", np.array([0.25], np.float32))
    ends = (graph.constant(np.float32(-1.5)), graph.constant(np.float32(4)))
    result = graph.quantize(graph.node("Clip", y, *ends), Y_SCALE, Y_POINT)
    model, feeds = graph.model(result), graph.feeds()
    session = trimtab.Session(trimtab.load(model))
    assert not {op.type for op in session.program.ops} & {"conv", "clip", "leaky_relu"}
    (want,), (actual,) = onnxruntime_of(model, feeds), session.run(feeds).values()
    # onnxruntime accumulates in float32.
    assert np.abs(actual.astype(int) - want).max() <= 1
    assert (actual.min(), actual.max()) == (want.min(), want.max())


@pytest.mark.parametrize("slope", [1.5, -2.0, np.nan])
def test_slopes_out_of_range_are_computed_in_float32(slope: float) -> None:
    graph = QuantizedGraph(seed=6)
    w, scales = graph.weights(20, 16, 1, 1, scales=20)
    x = graph.pair(graph.input(1, 16, 9, 9), X_SCALE, X_POINT)
    slopes = np.full(20, 0.5, np.float32)
    slopes[3] = slope
    y = sloped(graph, graph.conv(x, X_SCALE, w, scales), "prelu", slopes)
    result = graph.quantize(y, Y_SCALE, Y_POINT)
    model, feeds = graph.model(result), graph.feeds()
    session = trimtab.Session(trimtab.load(model))
    assert "prelu" in {op.type for op in session.program.ops}
    if not np.isnan(slope):  # engines convert NaN to different integers
        (want,), (actual,) = onnxruntime_of(model, feeds), session.run(feeds).values()
        assert np.abs(actual.astype(int) - want).max() <= 1


@pytest.mark.parametrize("group", [1, 16])
def test_slopes_with_large_scales_are_computed_in_float32(group: int) -> None:
    graph = QuantizedGraph(seed=9)
    w, scales = graph.weights(16, 16 // group, 1, 1, scales=16)
    scales[5] = 3
    x = graph.pair(graph.input(1, 16, 9, 9), X_SCALE, X_POINT)
    y = graph.conv(x, X_SCALE, w, scales, group=group)
    result = graph.quantize(
        sloped(graph, y, "leaky", np.array([0.1], np.float32)), Y_SCALE, Y_POINT
    )
    model, feeds = graph.model(result), graph.feeds()
    session = trimtab.Session(trimtab.load(model))
    assert "look_up" not in {op.type for op in session.program.ops}
    (want,), (actual,) = onnxruntime_of(model, feeds), session.run(feeds).values()
    assert np.abs(actual.astype(int) - want).max() <= 1


@pytest.mark.parametrize("name", ["1x1", "depthwise", "tiles"])
def test_a_model_with_slopes_out_of_range_is_refused(name: str) -> None:
    model, _, _ = case(name, "prelu")
    plan = Plan(("quantized_winograd",)) if name == "tiles" else Plan()
    planned = trimtab.optimize(trimtab.load(model), Target.host(), plan)
    (op,) = (op for op in planned.ops if op.type in PRODUCTS)
    slopes = planned.vars[op.inputs[4]]
    assert slopes.data is not None
    for value in (1.25, np.nan):
        data = slopes.data.copy()
        data[-1] = value
        planned.vars[slopes.name] = replace(slopes, data=data)
        with pytest.raises(ProgramError, match=r"a slope or its scale is outside \[-1, 1\]"):
            trimtab.Session(planned)


@pytest.mark.parametrize("kind", ["leaky", "prelu"])
def test_quantizing_fuses_every_activation_with_its_convolution(kind: str, tmp_path: Path) -> None:
    graph = QuantizedGraph(seed=7)
    x = graph.input(1, 8, 12, 12)
    for shape, attributes in (
        ((16, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((16, 1, 3, 3), {"pads": [1, 1, 1, 1], "group": 16}),
        ((12, 16, 1, 1), {}),
    ):
        w = graph.rng.standard_normal(shape).astype(np.float32) / np.sqrt(np.prod(shape[1:]))
        x = graph.node("Conv", x, graph.constant(w.astype(np.float32)), **attributes)
        x = sloped(graph, x, kind, slopes_for(kind, shape[0], graph.rng))
    x = graph.node("Add", x, graph.constant(np.float32(0.5)))
    model, feeds = graph.model(x), graph.feeds()
    samples = {name: np.stack([feed, feed / 2, -feed]) for name, feed in feeds.items()}
    (tmp_path / "case.onnx").write_bytes(model.SerializeToString())
    quantized = quantize(trimtab.load(tmp_path / "case.onnx"), samples)
    planned = trimtab.optimize(quantized.program, Target.host())
    types = [op.type for op in planned.ops]
    assert sum(type in PRODUCTS for type in types) == 3
    assert not {"conv", "look_up"} & {*types}
    with_slopes = [op for op in planned.ops if op.type in PRODUCTS and len(op.inputs) == 5]
    assert len(with_slopes) == 2  # the last result stays float32
    (want,) = onnxruntime_of(model, feeds)
    (actual,) = trimtab.Session(quantized.program).run(feeds).values()
    assert np.abs(actual - want).mean() < 0.01 * np.abs(want).mean() + 0.01


def test_a_sum_with_several_readers_is_rounded_separately() -> None:
    graph = QuantizedGraph(seed=8)
    w, scales = graph.weights(20, 16, 1, 1, scales=20)
    x = graph.pair(graph.input(1, 16, 9, 9), X_SCALE, X_POINT)
    y = graph.pair(graph.conv(x, X_SCALE, w, scales), Y_SCALE, Y_POINT)
    left = graph.pair(sloped(graph, y, "leaky", np.array([0.1], np.float32)), Y_SCALE, Y_POINT)
    model, feeds = graph.model(left, y), graph.feeds()
    session = trimtab.Session(trimtab.load(model))
    assert "look_up" in {op.type for op in session.program.ops}
    for actual, want in zip(session.run(feeds).values(), onnxruntime_of(model, feeds), strict=True):
        np.testing.assert_array_equal(actual, want)
