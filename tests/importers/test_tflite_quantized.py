"""Quantized TFLite models in all forms, against LiteRT with the tolerances given here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import Array
from trimtab.errors import UnsupportedOperatorError
from trimtab.target import Target

SAME, VALID = 0, 1
RELU, RELU6 = 1, 3

X, Y = (0.04, -7), (0.09, 12)
POINTS = {np.int8: 0, np.uint8: 128}  # the offset of zero points


def litert(model: Model, *, reference: bool = False) -> list[Array]:
    """LiteRT's outputs, with XNNPACK, its default, or with its reference kernels."""
    interpreter_module = pytest.importorskip(
        "ai_edge_litert.interpreter", reason="ai-edge-litert is the oracle"
    )
    kinds = interpreter_module.OpResolverType
    kind = kinds.BUILTIN_REF if reference else kinds.BUILTIN
    interpreter: Any = interpreter_module.Interpreter(
        model_content=model.bytes(), experimental_op_resolver_type=kind, num_threads=1
    )
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), model.feeds, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def load(model: Model, folder: Path) -> trimtab.Program:
    path = model.write(folder)
    return trimtab.load(path)


def run(model: Model, folder: Path) -> list[Array]:
    program = load(model, folder)
    feeds = dict(zip(program.inputs, model.feeds, strict=True))
    return list(trimtab.Session(program).run(feeds).values())


def types(model: Model, folder: Path) -> set[str]:
    return {op.type for op in trimtab.optimize(load(model, folder), Target.host()).ops}


class Network:
    """A model whose tensors are of one quantized type; scales and weights are seeded."""

    def __init__(self, dtype: type[Any] = np.int8, seed: int = 0) -> None:
        self.dtype, self.model, self.rng = dtype, Model(), np.random.default_rng(seed)

    def point(self, value: int) -> int:
        return value + POINTS[self.dtype]

    def input(self, *shape: int, scale: tuple[float, int] = X) -> int:
        info = np.iinfo(self.dtype)
        feed = self.rng.integers(info.min, info.max + 1, shape).astype(self.dtype)
        return self.model.quantized(self.model.input(feed), scale[0], self.point(scale[1]))

    def weights(self, *shape: int, axis: int | None = None, point: int = 0) -> int:
        """Scales per channel along `axis`; uint8 has one scale and a zero point."""
        count = 1 if axis is None else shape[axis]
        scales = self.rng.uniform(0.002, 0.02, count).astype(np.float32)
        data = self.rng.integers(-127, 128, shape) + POINTS[self.dtype]
        w = self.model.constant(data.astype(self.dtype))
        points = self.point(point)
        return self.model.quantized(w, scales.tolist(), [points] * count, axis or 0)

    def bias(self, x: int, w: int, count: int) -> int:
        tensors = self.model.tensors
        units = np.float32(tensors[x].scales[0]) * np.array(tensors[w].scales, np.float32)
        bias = self.model.constant(self.rng.integers(-2000, 2000, count).astype(np.int32))
        return self.model.quantized(bias, units.tolist(), 0)

    def add(
        self,
        type: str,
        inputs: Sequence[int],
        shape: Sequence[int],
        options: str = "",
        scale: tuple[float, int] = Y,
        **fields: Any,
    ) -> int:
        name = np.dtype(self.dtype).name
        (y,) = self.model.add(type, inputs, [shape], options, name, **fields)
        return self.model.quantized(y, scale[0], self.point(scale[1]))

    def ends(self, *tensors: int) -> Model:
        self.model.outputs = list(tensors)
        return self.model


def convolution(
    net: Network,
    x: int,
    outputs: int,
    kernel: int = 3,
    stride: int = 1,
    *,
    depthwise: bool = False,
    per_channel: bool = True,
    point: int = 0,
    scale: tuple[float, int] = Y,
    activation: int = 0,
    padding: int = SAME,
) -> int:
    _, h, w, channels = net.model.tensors[x].shape
    h, w = (n - (kernel - 1 if padding == VALID else 0) for n in (h, w))
    shape = (1, kernel, kernel, outputs) if depthwise else (outputs, kernel, kernel, channels)
    axis = (3 if depthwise else 0) if per_channel else None
    weights = net.weights(*shape, axis=axis, point=point)
    options = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    more = {"DepthMultiplier": outputs // channels} if depthwise else {}
    return net.add(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        [x, weights, net.bias(x, weights, outputs)],
        (1, -(-h // stride), -(-w // stride), outputs),
        options,
        scale,
        Padding=padding,
        StrideH=stride,
        StrideW=stride,
        DilationHFactor=1,
        DilationWFactor=1,
        FusedActivationFunction=activation,
        **more,
    )


CONVOLUTIONS: dict[str, tuple[int, dict[str, Any]]] = {
    "1x1": (16, {"outputs": 24, "kernel": 1}),
    "3x3": (8, {"outputs": 12}),
    "3x3-stride-2-few-channels": (3, {"outputs": 8, "stride": 2}),
    "relu": (8, {"outputs": 9, "activation": RELU}),
    "relu6": (8, {"outputs": 9, "activation": RELU6}),
    "depthwise": (20, {"outputs": 20, "depthwise": True}),
    "depthwise-relu6-stride-2": (
        20,
        {"outputs": 20, "depthwise": True, "stride": 2, "activation": RELU6},
    ),
    "depthwise-multiplier": (5, {"outputs": 10, "depthwise": True}),
}


# Weights of uint8 have one scale.
@pytest.mark.parametrize(
    ("dtype", "per_channel"), [(np.int8, True), (np.int8, False), (np.uint8, False)]
)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_quantized_convolution_is_equal_to_xnnpack(
    name: str, per_channel: bool, dtype: type[Any], tmp_path: Path
) -> None:
    channels, options = CONVOLUTIONS[name]
    net = Network(dtype, seed=len(name))
    x = net.input(1, 10, 11, channels)
    model = net.ends(convolution(net, x, per_channel=per_channel, **options))
    (want,), (actual,) = litert(model), run(model, tmp_path)
    assert actual.dtype == want.dtype
    assert len(np.unique(want)) > 20
    np.testing.assert_array_equal(actual, want)
    (reference,) = litert(model, reference=True)
    assert np.abs(actual.astype(int) - reference.astype(int)).max() <= 1
    assert not types(model, tmp_path) & {"conv", "conv_depthwise"}


def _one(type: str, options: str = "", scale: tuple[float, int] = Y, **fields: Any) -> Any:
    def build(net: Network) -> int:
        x = net.input(1, 7, 9, 6)
        return net.add(type, [x], (1, 7, 9, 6), options, scale, **fields)

    return build


def _two(type: str, options: str = "", shape: tuple[int, ...] = (1, 7, 9, 6), **fields: Any) -> Any:
    def build(net: Network) -> int:
        x, other = net.input(1, 7, 9, 6), net.input(*shape, scale=(0.03, 5))
        return net.add(type, [x, other], (1, 7, 9, 6), options, Y, **fields)

    return build


def _pool(kind: str) -> Any:
    def build(net: Network) -> int:
        x = net.input(1, 8, 10, 6)
        size: dict[str, Any] = {"FilterHeight": 3, "FilterWidth": 3, "StrideH": 2, "StrideW": 2}
        return net.add(f"{kind}_POOL_2D", [x], (1, 4, 5, 6), "Pool2DOptions", X, **size)

    return build


def _mean(net: Network) -> int:
    x, axes = net.input(1, 7, 9, 6), net.model.constant([1, 2])
    return net.add("MEAN", [x, axes], (1, 6), "ReducerOptions", (0.01, 3))


def _concat(net: Network) -> int:
    operands = [net.input(1, 7, 9, n) for n in (6, 3)]
    return net.add("CONCATENATION", operands, (1, 7, 9, 9), "ConcatenationOptions", X, Axis=3)


def _pack(net: Network) -> int:
    constant = net.model.constant(net.rng.integers(0, 100, (3, 16)).astype(net.dtype))
    operands = [net.input(3, 16), net.model.quantized(constant, X[0], net.point(X[1]))]
    return net.add("PACK", operands, (2, 3, 16), "PackOptions", X, ValuesCount=2, Axis=0)


def _pad(net: Network) -> int:
    pads = net.model.constant(np.array([[0, 0], [1, 2], [3, 0], [0, 0]], np.int32))
    return net.add("PAD", [net.input(1, 7, 9, 6), pads], (1, 10, 12, 6), "PadOptions", X)


def _resize(kind: str) -> Any:
    def build(net: Network) -> int:
        operands = [net.input(1, 7, 9, 6), net.model.constant([14, 18])]
        options = f"Resize{kind.title().replace('_', '')}Options"
        return net.add(f"RESIZE_{kind}", operands, (1, 14, 18, 6), options, X)

    return build


def _product(net: Network) -> int:
    x = net.input(3, 16)
    w = net.weights(5, 16, axis=0 if net.dtype is np.int8 else None)
    return net.add("FULLY_CONNECTED", [x, w, net.bias(x, w, 5)], (3, 5), "FullyConnectedOptions")


def _softmax(net: Network) -> int:
    return net.add("SOFTMAX", [net.input(2, 10)], (2, 10), "SoftmaxOptions", EIGHTH, Beta=1.0)


EIGHTH = (1 / 256, -128)

# Tolerances against XNNPACK and LiteRT's reference kernels in output scales; 0: equal.
OPERATORS: dict[str, tuple[Callable[[Network], int], int, int]] = {
    "ADD": (_two("ADD", "AddOptions"), 1, 1),
    "SUB": (_two("SUB", "SubOptions"), 1, 1),
    "MUL": (_two("MUL", "MulOptions"), 1, 1),
    "MUL-channel": (_two("MUL", "MulOptions", (1, 1, 1, 6)), 1, 1),
    "MAX_POOL_2D": (_pool("MAX"), 0, 0),
    "AVERAGE_POOL_2D": (_pool("AVERAGE"), 1, 1),
    "MEAN": (_mean, 1, 1),
    "CONCATENATION": (_concat, 0, 0),
    "PACK": (_pack, 0, 0),
    "PAD": (_pad, 0, 0),
    "RESIZE_BILINEAR": (_resize("BILINEAR"), 1, 1),
    "RESIZE_NEAREST_NEIGHBOR": (_resize("NEAREST_NEIGHBOR"), 0, 0),
    "FULLY_CONNECTED": (_product, 0, 1),
    "LOGISTIC": (_one("LOGISTIC", scale=EIGHTH), 1, 1),
    "TANH": (_one("TANH", scale=(1 / 128, 0)), 1, 1),
    "HARD_SWISH": (_one("HARD_SWISH", "HardSwishOptions"), 1, 1),
    "LEAKY_RELU": (_one("LEAKY_RELU", "LeakyReluOptions", Alpha=0.3), 1, 1),
    "RELU": (_one("RELU", scale=X), 0, 0),
    "QUANTIZE": (_one("QUANTIZE", "QuantizeOptions"), 1, 1),
    "SOFTMAX": (_softmax, 1, 1),
}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", OPERATORS)
def test_a_quantized_operator_matches_litert_within_its_tolerance(
    name: str, dtype: type[Any], tmp_path: Path
) -> None:
    build, steps, of_reference = OPERATORS[name]
    net = Network(dtype, seed=len(name))
    model = net.ends(build(net))
    (actual,) = run(model, tmp_path)
    for reference, most in ((False, steps), (True, of_reference)):
        (want,) = litert(model, reference=reference)
        assert (actual.dtype, actual.shape) == (want.dtype, want.shape)
        assert len(np.unique(want)) > 5
        assert np.abs(actual.astype(int) - want.astype(int)).max() <= most


@pytest.mark.parametrize("depthwise", [False, True])
def test_padding_by_itself_becomes_that_of_the_convolution(depthwise: bool, tmp_path: Path) -> None:
    net = Network(seed=4)
    pads = net.model.constant(np.array([[0, 0], [1, 2], [0, 1], [0, 0]], np.int32))
    x = net.add("PAD", [net.input(1, 8, 9, 6), pads], (1, 11, 10, 6), "PadOptions", X)
    model = net.ends(convolution(net, x, 6, stride=2, depthwise=depthwise, padding=VALID))
    assert "pad" not in types(model, tmp_path)
    np.testing.assert_array_equal(run(model, tmp_path)[0], litert(model)[0])


@pytest.mark.parametrize("name", ["3x3", "depthwise"])
def test_uint8_weights_with_a_zero_point_are_dequantized(name: str, tmp_path: Path) -> None:
    channels, options = CONVOLUTIONS[name]
    net = Network(np.uint8, seed=3)
    x = net.input(1, 10, 11, channels)
    model = net.ends(convolution(net, x, per_channel=False, point=23, **options))
    assert types(model, tmp_path) & {"conv", "conv_depthwise"}
    for reference in (False, True):
        (want,), (actual,) = litert(model, reference=reference), run(model, tmp_path)
        assert np.abs(actual.astype(int) - want.astype(int)).max() <= 1


def network(dtype: type[Any]) -> Model:
    """A chain of operators with exact results: convolutions, max pooling, concat, GEMM."""
    net = Network(dtype, seed=5)
    wide = dtype is np.int8
    x = net.input(1, 33, 31, 3)
    y = convolution(net, x, 24, stride=2, activation=RELU6, per_channel=wide, scale=(0.024, -128))
    y = convolution(net, y, 24, depthwise=True, per_channel=wide, scale=(0.12, 4))
    left = convolution(net, y, 16, 1, activation=RELU, per_channel=wide, scale=(0.2, -128))
    right = convolution(net, y, 8, per_channel=wide, scale=(0.2, -128))
    y = net.add(
        "CONCATENATION", [left, right], (1, 17, 16, 24), "ConcatenationOptions", (0.2, -128), Axis=3
    )
    size = dict.fromkeys(("FilterHeight", "FilterWidth", "StrideH", "StrideW"), 2)
    size["Padding"] = VALID
    y = net.add("MAX_POOL_2D", [y], (1, 8, 8, 24), "Pool2DOptions", (0.2, -128), **size)
    flat = net.model.constant([1, 8 * 8 * 24])
    y = net.add("RESHAPE", [y, flat], (1, 8 * 8 * 24), scale=(0.2, -128))
    w = net.weights(10, 8 * 8 * 24, axis=0 if wide else None)
    operands = [y, w, net.bias(y, w, 10)]
    return net.ends(
        net.add("FULLY_CONNECTED", operands, (1, 10), "FullyConnectedOptions", (3.0, 0))
    )


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_a_quantized_network_is_equal_to_xnnpack(dtype: type[Any], tmp_path: Path) -> None:
    model = network(dtype)
    (want,), (actual,) = litert(model), run(model, tmp_path)
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual, want)
    inner = types(model, tmp_path) - {"quantize_linear", "dequantize_linear"}
    assert inner <= {
        *("qlinear_conv", "qlinear_conv_depthwise", "max_pool", "concat", "reshape"),
        *("transpose", "convert_layout"),
    }


def test_quantized_outputs_keep_the_layout_and_type_of_the_file(
    tmp_path: Path,
) -> None:
    net = Network(seed=6)
    inner = convolution(net, net.input(1, 8, 9, 3), 8)
    model = net.ends(inner, convolution(net, inner, 5, 1))
    for actual, want in zip(run(model, tmp_path), litert(model), strict=True):
        np.testing.assert_array_equal(actual, want)
    program = load(model, tmp_path)
    assert all("zero point 12" in str(program.vars[y].quantization) for y in program.outputs)


def test_float32_operators_are_possible_between_quantized_ones(tmp_path: Path) -> None:
    net, real = Network(seed=7), "float32"
    feed = (net.rng.standard_normal((1, 8, 8, 3)) * 2).astype(np.float32)
    (x,) = net.model.add("QUANTIZE", [net.model.input(feed)], [feed.shape], dtype="int8")
    y = convolution(net, net.model.quantized(x, *X), 8)
    (y,) = net.model.add("DEQUANTIZE", [y], [(1, 8, 8, 8)], dtype=real)
    (y,) = net.model.add("ELU", [y], [(1, 8, 8, 8)], dtype=real)
    y = net.add("QUANTIZE", [y], (1, 8, 8, 8), "QuantizeOptions", (0.07, -40))
    y = convolution(net, y, 6, 1)
    net.model.outputs = net.model.add("DEQUANTIZE", [y], [(1, 8, 8, 6)], dtype=real)
    (want,), (actual,) = litert(net.model), run(net.model, tmp_path)
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, want, 0, Y[0] * 1.01)
    operators = types(net.model, tmp_path)
    assert "qlinear_conv" in operators
    assert not operators & {"conv", "elu"}  # the float operators are a lookup table


def test_quantized_weights_work_with_float32_operators(tmp_path: Path) -> None:
    net = Network(seed=8)
    feed = net.rng.standard_normal((3, 16)).astype(np.float32)
    w = net.weights(5, 16, axis=0)
    operands = [net.model.input(feed), w, -1]
    options = "FullyConnectedOptions"
    net.model.outputs = net.model.add("FULLY_CONNECTED", operands, [(3, 5)], options)
    data = np.frombuffer(net.model.tensors[w].data, np.int8).reshape(5, 16)
    real = data * np.array(net.model.tensors[w].scales, np.float32)[:, np.newaxis]
    (actual,) = run(net.model, tmp_path)
    np.testing.assert_allclose(actual, feed @ real.T, 1e-5, 1e-5)


def test_operators_without_an_int8_form_are_refused_with_the_reason(tmp_path: Path) -> None:
    model = Model()
    x = model.input(np.zeros((1, 4), np.float32))
    (y,) = model.add("QUANTIZE", [x], [(1, 4)], dtype="int32")
    model.outputs = [model.quantized(y, 0.1, 0)]
    with pytest.raises(UnsupportedOperatorError, match="quantized to i32"):
        load(model, tmp_path)
    net = Network()
    x = net.input(1, 4)
    y = net.add("RELU", [x], (1, 4))
    net.model.quantized(y, [0.1] * 4, 0, 1)
    with pytest.raises(UnsupportedOperatorError, match="has several scales"):
        load(net.ends(y), tmp_path)
