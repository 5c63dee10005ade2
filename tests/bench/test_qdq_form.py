"""Expected outputs of quantized models, computed on int8 values and in QDQ form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import trimtab
from tests.ops.quantized import MICROSOFT, Array, QuantizedGraph, onnxruntime_of
from trimtab.bench import golden, oracle, qdq_form
from trimtab.errors import WrongOutputError
from trimtab.pipeline.reference import host_output

X, Y = (0.04, -7), (0.09, 12)
WIDE: dict[str, Any] = {"pads": [1, 1, 1, 1]}


def classifier(dtype: type[Any], *, operators: bool = False) -> onnx.ModelProto:
    """Two convolutions and a sum, then a softmax over two classes at each pixel, whose steps are of
    1/255 as onnxruntime's quantizer makes them; softmax as one of its `operators`, or QDQ.
    """
    graph = QuantizedGraph(dtype, seed=5)
    x = graph.pair(graph.input(1, 3, 30, 28), 0.03, 5)
    left = graph.conv(x, 0.03, *graph.weights(8, 3, 3, 3, scales=8), strides=[2, 2], **WIDE)
    left = graph.pair(graph.node("Relu", left), 0.05, -128)
    right = graph.pair(graph.conv(left, 0.05, *graph.weights(8, 8, 3, 3), **WIDE), 0.3, 10)
    y = graph.pair(graph.node("Add", left, right), 0.25, 4)
    y = graph.pair(graph.conv(y, 0.25, *graph.weights(2, 8, 1, 1)), 0.07, -3)
    y = graph.node("Transpose", y, perm=[0, 2, 3, 1])
    y = graph.node("Reshape", y, graph.constant(np.array([1, -1, 2])))
    scales = graph.scale(1 / 255, -128)
    if operators:
        q = graph.quantize(y, 0.07, -3)
        operands = (q, *graph.scale(0.07, -3), *scales)
        y = graph.node("QLinearSoftmax", *operands, domain=MICROSOFT, opset=11, axis=2)
    else:
        y = graph.node("QuantizeLinear", graph.node("Softmax", y, axis=2), *scales)
    return graph.model(graph.node("DequantizeLinear", y, *scales))


def expected(model: onnx.ModelProto, folder: Path) -> golden.Golden:
    path = folder / "case.onnx"
    path.write_bytes(model.SerializeToString())
    return oracle.onnx_golden(path, {})


def feeds(reference: golden.Golden) -> dict[str, Array]:
    return {"x0": reference.inputs[0]}


@pytest.mark.parametrize("operators", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_a_softmax_that_onnxruntime_computes_on_int8_is_expected_in_float32(
    dtype: type[Any], operators: bool, tmp_path: Path
) -> None:
    model = classifier(dtype, operators=operators)
    reference = expected(model, tmp_path)
    (computed,) = (
        trimtab.Session(trimtab.load(tmp_path / "case.onnx")).run(feeds(reference)).values()
    )
    golden.check(reference, 0, computed.tobytes())
    # Both of two classes are steps of 1/255 that add up to 255, but where both round 127.5 down.
    for values in (reference.outputs[0], reference.others[0]):
        assert len(np.unique(values)) > 20
        sums = np.rint(values.sum(axis=2) * 255)
        assert np.mean(sums[values[:, :, 0] != values[:, :, 1]] == 255) > 0.99


def _without_a_tap(model: onnx.ModelProto, constants: dict[str, onnx.TensorProto]) -> None:
    tensor = next(t for t in constants.values() if list(t.dims) == [8, 8, 3, 3])
    weights = numpy_helper.to_array(tensor).copy()
    weights[:, :, 1, 2] = 0
    tensor.CopyFrom(numpy_helper.from_array(weights, tensor.name))


def _without_biases(model: onnx.ModelProto, constants: dict[str, onnx.TensorProto]) -> None:
    for tensor in constants.values():
        if tensor.data_type == onnx.TensorProto.INT32:
            tensor.CopyFrom(
                numpy_helper.from_array(np.zeros(tuple(tensor.dims), np.int32), tensor.name)
            )


def _scaled_by_another_channel(
    model: onnx.ModelProto, constants: dict[str, onnx.TensorProto]
) -> None:
    tensor = next(
        t
        for t in constants.values()
        if list(t.dims) == [8] and t.data_type == onnx.TensorProto.FLOAT
    )
    scales = np.roll(numpy_helper.to_array(tensor), 1)
    tensor.CopyFrom(numpy_helper.from_array(scales, tensor.name))


def _shifted_by_a_pixel(model: onnx.ModelProto, constants: dict[str, onnx.TensorProto]) -> None:
    node = next(n for n in reversed(model.graph.node) if any(a.name == "pads" for a in n.attribute))
    pads = next(a for a in node.attribute if a.name == "pads")
    pads.ints[:] = [2, 1, 0, 1]


@pytest.mark.parametrize(
    "fault", [_without_a_tap, _without_biases, _scaled_by_another_channel, _shifted_by_a_pixel]
)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_a_wrong_convolution_is_wrong_by_both_definitions(
    dtype: type[Any], fault: Callable[..., None], tmp_path: Path
) -> None:
    model = classifier(dtype)
    reference = expected(model, tmp_path)
    for values in (reference.outputs[0], reference.others[0]):
        golden.check(reference, 0, values.tobytes())
    fault(model, {tensor.name: tensor for tensor in model.graph.initializer})
    for form in (model, qdq_form.with_float_softmax(model)):
        wrong = onnxruntime_of(form, feeds(reference))[0]
        with pytest.raises(WrongOutputError):
            golden.check(reference, 0, wrong.tobytes())


def test_an_element_may_be_either_of_two_values_and_few_may_be_neither() -> None:
    rng = np.random.default_rng(2)
    one = rng.integers(0, 256, 1000).astype(np.float32) / 256
    other = one + (rng.random(1000) < 0.1) / np.float32(256)
    reference = golden.Golden([], [one], ["y"], "numpy", scales=[1 / 256], others=[other])
    mixed = np.where(rng.random(1000) < 0.5, one, other)
    assert golden.check(reference, 0, mixed.tobytes()).max_error == 0
    mixed[:10] += np.float32(-1 / 256)
    golden.check(reference, 0, mixed.tobytes())
    for wrong in (
        one + 2 / 256,
        other - np.float32(1 / 256),
        np.where(np.arange(1000) < 11, 7, one),
    ):
        with pytest.raises(WrongOutputError):
            golden.check(reference, 0, wrong.astype(np.float32).tobytes())


def test_an_output_has_the_scale_of_its_last_quantized_values(tmp_path: Path) -> None:
    graph = QuantizedGraph(np.int8)
    x = graph.pair(graph.input(1, 3, 8, 8), 0.03, 5)
    coarse = graph.pair(graph.conv(x, 0.03, *graph.weights(4, 3, 1, 1)), 0.5, 0)
    fine = graph.pair(graph.node("Sigmoid", coarse), 1 / 256, -128)
    moved = graph.node("Transpose", coarse, perm=[0, 2, 3, 1])
    real = graph.node("Abs", graph.input(1, 4))
    integers = graph.quantize(graph.node("Relu", fine), 1 / 256, -128)
    model = graph.model(moved, fine, real, integers)
    reference = expected(model, tmp_path)
    np.testing.assert_allclose(reference.scales, [0.5, 1 / 256, 0, 1])
    program = host_output(trimtab.load(tmp_path / "case.onnx"))
    np.testing.assert_allclose(program.scales, [0.5, 1 / 256, 0, 1])
    off = [output.copy() for output in reference.outputs]
    for output, step in zip(off, (0.5, 1 / 256, 0.01, 1), strict=True):
        output.flat[3] += output.dtype.type(step if output.flat[3] <= 0 else -step)
    for index in (0, 1, 3):
        golden.check(reference, index, off[index].tobytes())
    with pytest.raises(WrongOutputError):
        golden.check(reference, 2, off[2].tobytes())


def _unary(type: str, **attributes: Any) -> Callable[[QuantizedGraph, str, str], str]:
    def build(graph: QuantizedGraph, a: str, _: str) -> str:
        operands = (a, *graph.scale(*X), *graph.scale(*Y))
        return graph.node(type, *operands, domain=MICROSOFT, **attributes)

    return build


def _binary(type: str) -> Callable[[QuantizedGraph, str, str], str]:
    def build(graph: QuantizedGraph, a: str, b: str) -> str:
        operands = (a, *graph.scale(*X), b, *graph.scale(0.03, 5), *graph.scale(*Y))
        return graph.node(type, *operands, domain=MICROSOFT)

    return build


def _softmax(opset: int, axis: int) -> Callable[[QuantizedGraph, str, str], str]:
    def build(graph: QuantizedGraph, a: str, _: str) -> str:
        operands = (a, *graph.scale(*X), *graph.scale(1 / 256, -128))  # a whole number of steps
        return graph.node("QLinearSoftmax", *operands, domain=MICROSOFT, opset=opset, axis=axis)

    return build


WRITTEN_OUT = {
    "QLinearAdd": _binary("QLinearAdd"),
    "QLinearMul": _binary("QLinearMul"),
    "QLinearSigmoid": _unary("QLinearSigmoid"),
    "QLinearLeakyRelu": _unary("QLinearLeakyRelu", alpha=0.2),
    "QLinearAveragePool": _unary("QLinearAveragePool", kernel_shape=[3, 2], strides=[2, 1]),
    "QLinearGlobalAveragePool": _unary("QLinearGlobalAveragePool"),
    "QLinearSoftmax": _softmax(13, 1),
    "QLinearSoftmax-11": _softmax(11, -1),
    "QLinearSoftmax-11-together": _softmax(11, 2),
}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_an_operator_in_qdq_form_equals_onnxruntimes_fused_one_up_to_rounding(
    name: str, dtype: type[Any]
) -> None:
    graph = QuantizedGraph(dtype, seed=3)
    a = graph.quantize(graph.input(1, 6, 7, 5), *X)
    b = graph.quantize(graph.input(1, 6, 7, 5), 0.03, 5)
    model = graph.model(WRITTEN_OUT[name](graph, a, b))
    real = qdq_form.in_qdq_form(model)
    assert not any(node.op_type.startswith("QLinear") for node in real.graph.node)
    values = graph.feeds()
    want, computed = onnxruntime_of(model, values)[0], onnxruntime_of(real, values)[0]
    assert (computed.dtype, computed.shape) == (want.dtype, want.shape)
    off = np.abs(computed.astype(int) - want.astype(int))
    assert off.max() <= 1
    assert np.mean(off > 0) <= 0.02
