"""Operators on integers without scales: those of dynamically quantized networks."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import matrix
from trimtab.importers.vocabulary.convolution import convolve
from trimtab.importers.vocabulary.elementwise import combine
from trimtab.importers.vocabulary.movement import axis_slice

_EXACT = 2**24  # float32 holds all integers below this
_LARGEST = 255  # difference of an 8-bit value and its zero point


@handles("MatMulInteger", "ConvInteger")
def integer_product(node: OnnxNode) -> Results:
    """Matrix multiplication or convolution of int8 and uint8 values by constant weights. float32
    holds the sums of a part of the products exactly; those of the parts are added as integers.
    """
    a = _less_zero_point(node, node.add("cast", node.x(0), to="f32"))
    b = _shifted(node, node.known(1, "second operand"), 3)
    is_conv = node.type == "ConvInteger"
    if is_conv and b.ndim != 4:
        raise node.unsupported(f"it is {b.ndim - 2}-dimensional")
    axis_a, axis_b = (1, 1) if is_conv else (len(a.shape) - 1, b.ndim - 2)
    if not is_conv and b.ndim < 2:
        raise node.unsupported("its weights are a vector")
    depth, group = b.shape[axis_b], node.integer("group", 1) if is_conv else 1
    products = math.prod(b.shape[2:]) if is_conv else 1  # of an element along the axis
    bound = _LARGEST * products * int(np.abs(b).max(initial=1))
    part = max(1, (_EXACT - 1) // bound)
    if bound >= _EXACT or (part < depth and group > 1):
        raise node.unsupported("its sums may be more than float32 holds exactly")
    y: Value | None = None
    for begin in range(0, depth, part):
        indices = range(begin, min(begin + part, depth))
        rows = a if part >= depth else axis_slice(node, a, axis_a, begin, indices.stop)
        weight = np.ascontiguousarray(b.take(indices, axis_b))
        if is_conv:
            window = windows.window_of(node, b.shape[2:], a.shape[2:])
            sums = convolve(node, rows, weight, None, window, group)
        else:
            sums = matrix.mat_mul(node, rows, weight)
        sums = node.add("cast", sums, to="i32")
        y = sums if y is None else combine(node, "add", y, sums)
    assert y is not None
    return y


def _shifted(node: OnnxNode, b: Array, i: int) -> Array:
    """Constant integers minus their zero point, as float32."""
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
    """uint8 with the scale and the zero point of the input's own range; 0 alone has the scale 1."""
    y, scale, point = _bytes(node, node.x(0))
    return node.add("cast", y, to="u8"), scale, node.add("cast", point, to="u8")


def rounded_to_bytes(node: OnnxNode, x: Value) -> Value:
    """The values of `x` that DynamicQuantizeLinear keeps."""
    y, scale, point = _bytes(node, x)
    return node.add("mul", node.add("sub", y, point), scale)


def _bytes(node: OnnxNode, x: Value) -> tuple[Value, Value, Value]:
    """(bytes, scale, zero point) of `x` with the range of its values, all in float32."""
    zero = node.constant(0.0, "zero")
    axes = tuple(range(len(x.shape)))

    def end(kind: str) -> Value:
        edge = node.add(f"reduce_{kind}", x, axes=axes, keep_dims=False) if axes else x
        return node.add(kind, edge, zero)

    def saturated(y: Value) -> Value:
        return node.add("clip", y, alpha=0.0, beta=255.0)

    low, high = end("min"), end("max")
    scale = node.add("div", node.add("sub", high, low), node.constant(255.0, "last"))
    is_zero = node.add("compare", scale, zero, relation="equal")
    scale = node.add("where", is_zero, node.constant(1.0, "one"), scale)
    point = saturated(node.add("round", node.add("neg", node.add("div", low, scale))))
    y = node.add("add", node.add("round", node.add("div", x, scale)), point)
    return saturated(y), scale, point
