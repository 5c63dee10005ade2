"""QuantizeLinear, DequantizeLinear, and operators on quantized operands such as QLinearConv.

Handlers of the latter dequantize the operands, compute on float32 and quantize the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import emulated, pooling
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.node import (
    DTYPE_NAMES,
    OnnxNode,
    dtype_name,
    handles,
    type_name,
)
from trimtab.importers.onnx_ops.reduction import normalized
from trimtab.importers.vocabulary import matrix
from trimtab.importers.vocabulary.convolution import convolve
from trimtab.importers.vocabulary.quantization import (
    DTYPES,
    QuantizedConstant,
    dequantized,
    quantized,
)
from trimtab.importers.vocabulary.window import from_image, to_image
from trimtab.program import Quantization
from trimtab.program.quantization import STORED

_ACTIVATIONS = ("i8", "u8")


def _dtype(node: OnnxNode, array: Array) -> str:
    return DTYPE_NAMES.get(array.dtype.name, array.dtype.name)


def _scales(node: OnnxNode, i: int, rank: int, axis: int) -> tuple[Array, int | None]:
    """The scales in input `i` and their axis in an operand of `rank` dimensions; the axis of a
    per-tensor scale is None.
    """
    scale = node.known(i, "scale")
    if scale.dtype.name not in ("float32", "float16"):
        raise node.unsupported(f"its scale has element type {scale.dtype}")
    if node.integer("block_size", 0) or scale.ndim > 1:
        raise node.unsupported("it has scales for blocks of elements")
    return scale, None if scale.size == 1 else node.axis(axis, rank)


def _quantization(
    node: OnnxNode, i: int, rank: int, axis: int = 0, default: str = "u8"
) -> tuple[Quantization, str]:
    """The quantization of an operand of `rank` dimensions, from the scale in input `i` and the zero
    point in the next input, and the dtype of its values.
    """
    scale, scale_axis = _scales(node, i, rank, axis)
    point = node.known(i + 1, "zero point") if node.has(i + 1) else np.zeros((), f"{default[0]}1")
    return Quantization.of(scale, point, scale_axis), _dtype(node, point)


def _check_dtype(node: OnnxNode, dtype: str, allowed: Sequence[str] = _ACTIVATIONS) -> None:
    if dtype not in allowed:
        raise node.unsupported(f"its quantized type is {dtype}, not {', '.join(allowed)}")


@handles("QuantizeLinear", "com.microsoft.QuantizeLinear")
def quantize_linear(node: OnnxNode) -> Results:
    """Quantization with constant scales, per tensor or per axis, or with a computed scale per
    tensor; 16 and 4 bits are computed in float32.
    """
    x = node.x()
    if ends := emulated.value_range(_result_type(node)):
        return emulated.quantized(node, x, ends)
    if not node.is_known(1):
        return _quantized_by_computed(node, x)
    default = "u8"
    if node.integer("output_dtype", 0):
        default = dtype_name(node.integer("output_dtype")) or "another type"
        _check_dtype(node, default)
    q, dtype = _quantization(node, 1, len(x.shape), node.integer("axis", 1), default)
    _check_dtype(node, dtype)
    return quantized(node, x, q, dtype)


def _result_type(node: OnnxNode) -> str:
    """numpy's name of the type to quantize to; empty for the default."""
    if node.has(2):
        point = node.operand(2)
        return "" if isinstance(point, Value) else point.dtype.name
    return type_name(node.integer("output_dtype", 0)) if node.integer("output_dtype", 0) else ""


@handles("DequantizeLinear", "com.microsoft.DequantizeLinear")
def dequantize_linear(node: OnnxNode) -> Results:
    """Dequantization of int8, uint8 or int32 with constant scales, per tensor or per axis, or with
    a computed scale per tensor; 16 and 4 bits, and scales for blocks of constants, in float32.
    """
    x = node.operand()
    if emulated.is_emulated(node):
        return emulated.dequantized(node)
    if not node.is_known(1):
        return _dequantized_by_computed(node)
    dtype = node.dtype(0)
    _check_dtype(node, dtype, DTYPES)
    q, _ = _quantization(node, 1, len(x.shape), node.integer("axis", 1), dtype)
    if isinstance(x, Value):
        return dequantized(node, x, q)
    stored = QuantizedConstant(x, q)
    node.note_stored(stored)
    return stored.values()


def _computed_scale(node: OnnxNode) -> Value:
    scale = node.x(1)
    if math.prod(scale.shape) != 1:
        raise node.unsupported("its scales are computed, one per channel")
    return node.reshape(scale, ())


def _quantized_by_computed(node: OnnxNode, x: Value) -> Value:
    scale, dtype = _computed_scale(node), node.dtype(2) if node.has(2) else "u8"
    _check_dtype(node, dtype)
    low, high = STORED[dtype]
    y = node.add("round", node.add("div", x, scale))
    if node.has(2):
        y = node.add("add", y, node.reshape(node.add("cast", node.x(2), to="f32"), ()))
    y = node.add("clip", y, alpha=float(low), beta=float(high))
    return node.add("cast", y, to=dtype)


def _dequantized_by_computed(node: OnnxNode) -> Value:
    scale, y = _computed_scale(node), node.add("cast", node.x(0), to="f32")
    if node.has(2):
        y = node.add("sub", y, node.reshape(node.add("cast", node.x(2), to="f32"), ()))
    return node.add("mul", y, scale)


# Operators on quantized operands.


def _operand(node: OnnxNode, i: int) -> Value:
    """Input `i`, dequantized; the next inputs are its scale and zero point."""
    _check_dtype(node, node.dtype(i))
    q, _ = _quantization(node, i + 1, len(node.shape(i)))
    return dequantized(node, node.operand(i), q)


def _weights(node: OnnxNode, i: int, what: str, axis: int) -> QuantizedConstant:
    """The constant weights in input `i`; the next inputs are the scales along `axis` and the zero
    point.
    """
    data = node.known(i, what)
    _check_dtype(node, node.dtype(i))
    return QuantizedConstant(data, _quantization(node, i + 1, data.ndim, axis)[0])


def _bias(node: OnnxNode, i: int, weights: QuantizedConstant) -> QuantizedConstant | None:
    """An int32 bias; its scale is the product of the scales of first operand and weights."""
    if not node.has(i):
        return None
    data = node.known(i, "bias")
    scale = node.known(1, "scale").astype(np.float32).reshape(-1)
    scales = scale * np.array(weights.quantization.scale, np.float32)
    return QuantizedConstant(data, Quantization.of(scales, 0, None if scales.size == 1 else 0))


def _result(node: OnnxNode, y: Value, i: int) -> Value:
    """Quantizes `y` with the scale in input `i` and the zero point in the next input."""
    q, dtype = _quantization(node, i, len(y.shape))
    _check_dtype(node, dtype)
    return quantized(node, y, q, dtype)


@handles("QLinearConv", "com.microsoft.QLinearConv")
def qlinear_conv(node: OnnxNode) -> Results:
    """Conv of quantized x: [n, c, (h,) w] and constant w: [m, c / group, (kh,) kw] with scales per
    output channel, and an int32 bias: [m].
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
    pixels = to_image(node, x, spatial)
    window = windows.window_of(node, weights.data.shape[2:], pixels.shape[2:])
    operands = (
        weights.dequantized(node, "weight"),
        bias.dequantized(node, "bias") if bias else None,
    )
    y = convolve(node, pixels, *operands, window, node.integer("group", 1))
    return _result(node, from_image(node, y, spatial, x), 6)


@handles("QLinearMatMul", "com.microsoft.QLinearMatMul")
def qlinear_mat_mul(node: OnnxNode) -> Results:
    """numpy.matmul of quantized a and b."""
    a = _operand(node, 0)
    return _result(node, _product(node, a, 3), 6)


def _product(node: OnnxNode, a: Value, i: int) -> Value:
    if node.is_known(i) and len(node.shape(i)) == 2 and len(a.shape) >= 2:
        weights = _weights(node, i, "weights", 1).transposed()
        return matrix.linear(node, a, weights.dequantized(node, "weight"))
    return matrix.mat_mul(node, a, _operand(node, i))


@handles("com.microsoft.QGemm")
def qgemm(node: OnnxNode) -> Results:
    """a b + c with quantized a: [m, k], constant b: [k, n], each possibly transposed, and constant
    c: int32 [n]; without a scale the result is float32.
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
        raise node.unsupported("its c does not have one element per column")
    a = matrix.transposed_matrix(node, a) if node.integer("transA", 0) else a
    operands = (
        weights.dequantized(node, "weight"),
        bias.dequantized(node, "bias") if bias else None,
    )
    y = matrix.linear(node, a, *operands)
    return _result(node, y, 7) if node.has(7) else y


@handles("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul")
def qlinear_binary(node: OnnxNode) -> Results:
    """a + b or a * b of quantized a and b."""
    op = "add" if node.type.endswith("Add") else "mul"
    return _result(node, node.add(op, _operand(node, 0), _operand(node, 3)), 6)


@handles("com.microsoft.QLinearConcat")
def qlinear_concat(node: OnnxNode) -> Results:
    """Concatenation of quantized operands with different scales."""
    xs = [_operand(node, i) for i in range(2, node.count(), 3)]
    axis = node.axis(node.integer("axis"), len(xs[0].shape))
    return _result(node, node.add("concat", *xs, axis=axis), 0)


@handles("com.microsoft.QLinearSigmoid", "com.microsoft.QLinearLeakyRelu")
def qlinear_activation(node: OnnxNode) -> Results:
    """An activation of quantized x."""
    x = _operand(node, 0)
    if node.type.endswith("Sigmoid"):
        return _result(node, node.add("sigmoid", x), 3)
    return _result(node, node.add("leaky_relu", x, alpha=node.real("alpha", 0.01)), 3)


@handles("com.microsoft.QLinearSoftmax")
def qlinear_softmax(node: OnnxNode) -> Results:
    """Softmax of quantized x; the attribute `opset` selects the version of Softmax.

    The default axis is the last one in every version, as in onnxruntime's schema.
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
    """Average pooling of quantized x: [n, c, h, w]."""
    if node.integer("channels_last", 0):
        raise node.unsupported("its channels are the last dimension")
    x = _operand(node, 0)
    if "Global" in node.type:
        return _result(node, pooling.whole(node, "average", x), 3)
    counted = node.boolean("count_include_pad", False)
    return _result(node, pooling.windowed(node, "average", x, counted=counted), 3)


@handles("com.microsoft.QLinearReduceMean")
def qlinear_reduce_mean(node: OnnxNode) -> Results:
    """Mean of quantized x over axes."""
    x = _operand(node, 0)
    axes = tuple(node.axis(axis) for axis in node.integers("axes", range(len(x.shape))))
    keep = node.boolean("keepdims", True)
    return _result(node, node.add("reduce_mean", x, axes=axes, keep_dims=keep), 3)


@handles("com.microsoft.QLinearWhere")
def qlinear_where(node: OnnxNode) -> Results:
    """condition ? a : b of quantized a and b."""
    return _result(node, node.add("where", node.x(0), _operand(node, 1), _operand(node, 4)), 7)
