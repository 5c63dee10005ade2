"""QuantizeLinear, DequantizeLinear, and operators on quantized operands.

The latter, QLinearConv and its kin, are written out: their operands are dequantized, and the result
is quantized.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import pooling
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.node import DTYPE_NAMES, OnnxNode, dtype_name, handles
from trimtab.importers.onnx_ops.reduction import normalized
from trimtab.importers.vocabulary import matrix
from trimtab.importers.vocabulary.convolution import convolve
from trimtab.importers.vocabulary.quantization import DTYPES, Stored, dequantized, quantized, real
from trimtab.importers.vocabulary.window import image, restore
from trimtab.program import Quantization

_ACTIVATIONS = ("i8", "u8")


def _dtype(node: OnnxNode, array: Array) -> str:
    return DTYPE_NAMES.get(array.dtype.name, array.dtype.name)


def _scales(node: OnnxNode, i: int, rank: int, axis: int) -> tuple[Array, int | None]:
    """The scales in input `i`, and the axis of an operand of `rank` dimensions that they go along;
    None where one is for all.
    """
    scale = node.known(i, "scale")
    if scale.dtype.name not in ("float32", "float16"):
        raise node.unsupported(f"its scale is of {scale.dtype}")
    if node.integer("block_size", 0) or scale.ndim > 1:
        raise node.unsupported("it has scales for blocks of elements")
    return scale, None if scale.size == 1 else node.axis(axis, rank)


def _quantization(
    node: OnnxNode, i: int, rank: int, axis: int = 0, default: str = "u8"
) -> tuple[Quantization, str]:
    """What the scale in input `i` and the zero point behind it say of an operand of `rank`
    dimensions, and the type of its integers.
    """
    scale, along = _scales(node, i, rank, axis)
    point = node.known(i + 1, "zero point") if node.has(i + 1) else np.zeros((), f"{default[0]}1")
    return Quantization.of(scale, point, along), _dtype(node, point)


def _check_dtype(node: OnnxNode, dtype: str, allowed: Sequence[str] = _ACTIVATIONS) -> None:
    if dtype not in allowed:
        raise node.unsupported(f"its integers are {dtype}, not {', '.join(allowed)}")


@handles("QuantizeLinear", "com.microsoft.QuantizeLinear")
def quantize_linear(node: OnnxNode) -> Results:
    """Constant scales, for all elements or along an axis, to int8 or uint8."""
    x = node.x()
    default = "u8"
    if node.integer("output_dtype", 0):
        default = dtype_name(node.integer("output_dtype")) or "of another type"
        _check_dtype(node, default)
    q, dtype = _quantization(node, 1, len(x.shape), node.integer("axis", 1), default)
    _check_dtype(node, dtype)
    return quantized(node, x, q, dtype)


@handles("DequantizeLinear", "com.microsoft.DequantizeLinear")
def dequantize_linear(node: OnnxNode) -> Results:
    """Constant scales, for all elements or along an axis, of int8, uint8 or int32."""
    x = node.operand()
    dtype = node.dtype(0)
    _check_dtype(node, dtype, DTYPES)
    q, _ = _quantization(node, 1, len(x.shape), node.integer("axis", 1), dtype)
    if isinstance(x, Value):
        return dequantized(node, x, q)
    stored = Stored(x, q)
    node.note_stored(stored)
    return stored.real()


# Operators on quantized operands.


def _operand(node: OnnxNode, i: int) -> Value:
    """Input `i` as real numbers; its scale and zero point follow."""
    _check_dtype(node, node.dtype(i))
    q, _ = _quantization(node, i + 1, len(node.shape(i)))
    return dequantized(node, node.operand(i), q)


def _weights(node: OnnxNode, i: int, what: str, axis: int) -> Stored:
    """Constant weights in input `i`, whose scales go along `axis`; scale and zero point follow."""
    data = node.known(i, what)
    _check_dtype(node, node.dtype(i))
    return Stored(data, _quantization(node, i + 1, data.ndim, axis)[0])


def _bias(node: OnnxNode, i: int, weights: Stored) -> Stored | None:
    """A bias of int32, which has the scale of the products of the first operand and weights."""
    if not node.has(i):
        return None
    data = node.known(i, "bias")
    scale = node.known(1, "scale").astype(np.float32).reshape(-1)
    scales = scale * np.array(weights.quantization.scale, np.float32)
    return Stored(data, Quantization.of(scales, 0, None if scales.size == 1 else 0))


def _result(node: OnnxNode, y: Value, i: int) -> Value:
    """The real numbers `y` as integers of the scale in input `i` and the zero point behind it."""
    q, dtype = _quantization(node, i, len(y.shape))
    _check_dtype(node, dtype)
    return quantized(node, y, q, dtype)


@handles("QLinearConv", "com.microsoft.QLinearConv")
def qlinear_conv(node: OnnxNode) -> Results:
    """x: [n, c, (h,) w] with scale and zero point, w: [m, c / group, (kh,) kw] with those of each
    m, scale and zero point of the result, bias: int32 [m]; weights constant.
    """
    if node.integer("channels_last", 0):
        raise node.unsupported("its channels are the last dimension")
    x, weights = _operand(node, 0), _weights(node, 3, "weights", 0)
    bias = _bias(node, 8, weights)
    if weights.data.ndim == 3:
        weights = replace(weights, data=weights.data[:, :, np.newaxis])
    if weights.data.ndim != 4:
        raise node.unsupported(f"it is {weights.data.ndim - 2}-dimensional")
    spatial = len(node.shape()) - 2
    pixels = image(node, x, spatial)
    window = windows.of(node, weights.data.shape[2:], pixels.shape[2:])
    operands = (real(node, weights, "weight"), real(node, bias, "bias") if bias else None)
    y = convolve(node, pixels, *operands, window, node.integer("group", 1))
    return _result(node, restore(node, y, spatial, x), 6)


@handles("QLinearMatMul", "com.microsoft.QLinearMatMul")
def qlinear_mat_mul(node: OnnxNode) -> Results:
    """numpy.matmul of a and b, each with scale and zero point, then those of the result."""
    a = _operand(node, 0)
    return _result(node, _product(node, a, 3), 6)


def _product(node: OnnxNode, a: Value, i: int) -> Value:
    if node.is_known(i) and len(node.shape(i)) == 2 and len(a.shape) >= 2:
        weights = _weights(node, i, "weights", 1).transposed()
        return matrix.product(node, a, real(node, weights, "weight"))
    return matrix.mat_mul(node, a, _operand(node, i))


@handles("com.microsoft.QGemm")
def qgemm(node: OnnxNode) -> Results:
    """a b + c with a: [m, k], b: [k, n] constant, each possibly transposed, c: int32 [n] constant;
    without a scale for the result it is of real numbers.
    """
    if node.real("alpha", 1.0) != 1.0:
        raise node.unsupported("alpha is not 1")
    a = _operand(node, 0)
    weights = _weights(node, 3, "weights", 0 if node.integer("transB", 0) else 1)
    bias = _bias(node, 6, weights)
    if not node.integer("transB", 0):
        weights = weights.transposed()
    if bias:
        bias = replace(bias, data=bias.data.reshape(-1))
    if bias and bias.data.size != weights.data.shape[0]:
        raise node.unsupported("its c is not one number for each column")
    a = matrix.flipped(node, a) if node.integer("transA", 0) else a
    operands = (real(node, weights, "weight"), real(node, bias, "bias") if bias else None)
    y = matrix.product(node, a, *operands)
    return _result(node, y, 7) if node.has(7) else y


@handles("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul")
def qlinear_binary(node: OnnxNode) -> Results:
    """a + b or a b, each with scale and zero point, then those of the result."""
    op = "add" if node.type.endswith("Add") else "mul"
    return _result(node, node.add(op, _operand(node, 0), _operand(node, 3)), 6)


@handles("com.microsoft.QLinearConcat")
def qlinear_concat(node: OnnxNode) -> Results:
    """Scale and zero point of the result, then any number of operands with theirs."""
    xs = [_operand(node, i) for i in range(2, node.count(), 3)]
    axis = node.axis(node.integer("axis"), len(xs[0].shape))
    return _result(node, node.add("concat", *xs, axis=axis), 0)


@handles("com.microsoft.QLinearSigmoid", "com.microsoft.QLinearLeakyRelu")
def qlinear_activation(node: OnnxNode) -> Results:
    """x with scale and zero point, then those of the result."""
    x = _operand(node, 0)
    if node.type.endswith("Sigmoid"):
        return _result(node, node.add("sigmoid", x), 3)
    return _result(node, node.add("leaky_relu", x, alpha=node.real("alpha", 0.01)), 3)


@handles("com.microsoft.QLinearSoftmax")
def qlinear_softmax(node: OnnxNode) -> Results:
    """x with scale and zero point, then those of the result; its `opset` says which Softmax it is.

    The axis is the last one unless given, before opset 13, too: onnxruntime's schema says so.
    """
    y = normalized(
        node,
        _operand(node, 0),
        node.integer("axis", -1),
        together=node.integer("opset", 13) < 13,
        along=lambda node, x, axis: node.add("softmax", x, axis=axis),
    )
    return _result(node, y, 3)


@handles("com.microsoft.QLinearGlobalAveragePool", "com.microsoft.QLinearAveragePool")
def qlinear_pool(node: OnnxNode) -> Results:
    """x: [n, c, h, w] with scale and zero point, then those of the result."""
    if node.integer("channels_last", 0):
        raise node.unsupported("its channels are the last dimension")
    x = _operand(node, 0)
    if "Global" in node.type:
        return _result(node, pooling.whole(node, "average", x), 3)
    counted = node.boolean("count_include_pad", False)
    return _result(node, pooling.windowed(node, "average", x, counted=counted), 3)


# Integers that stand for themselves.


@handles("MatMulInteger", "ConvInteger")
def integer_product(node: OnnxNode) -> Results:
    """Sums of products of 8-bit integers, as far as float32 holds all of them exactly."""
    a = node.add("cast", node.x(0), to="f32")
    b = _shifted(node, node.known(1, "second operand"), 3)
    depth = b.shape[-2] if node.type == "MatMulInteger" else b[0].size
    if depth * 255 * int(np.abs(b).max(initial=0)) >= 2**24:
        raise node.unsupported("its sums may be more than float32 holds exactly")
    a = _less_zero_point(node, a)
    if node.type == "MatMulInteger":
        y = matrix.mat_mul(node, a, b)
    else:
        if b.ndim != 4:
            raise node.unsupported(f"it is {b.ndim - 2}-dimensional")
        window = windows.of(node, b.shape[2:], a.shape[2:])
        y = convolve(node, a, b, None, window, node.integer("group", 1))
    return node.add("cast", y, to="i32")


def _shifted(node: OnnxNode, b: Array, i: int) -> Array:
    """Known integers less their zero point, as float32."""
    point = node.known(i, "zero point").astype(np.float32) if node.has(i) else np.float32(0)
    if point.ndim == 1 and node.type == "ConvInteger":
        point = point.reshape(-1, *[1] * (b.ndim - 1))
    return b.astype(np.float32) - point


def _less_zero_point(node: OnnxNode, a: Value) -> Value:
    if not node.has(2):
        return a
    point: Operand = node.operand(2)
    if isinstance(point, np.ndarray) and point.size == 1:
        return node.shifted(a, -float(point.reshape(-1)[0]))
    shift = node.add("cast", node.x(2), to="f32")
    if node.type == "MatMulInteger" and len(shift.shape) == 1 and shift.shape[0] > 1:
        shift = node.reshape(shift, (-1, 1))
    return node.add("sub", a, shift)


@handles("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: OnnxNode) -> Results:
    """Its scale depends on the input: that is not known when operators on integers are planned."""
    raise node.unsupported("its scale is computed from its input: quantize the network statically")
