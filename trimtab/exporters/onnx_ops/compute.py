"""Convolutions, matrix multiplications, pools, and quantization."""

from __future__ import annotations

import math

import numpy as np

from trimtab.exporters.onnx_ops.graph import OnnxGraph, attributes_of, emits, refusal
from trimtab.program import Op

_WINDOW = ("strides", "pads", "dilations", "group")


@emits("conv")
def conv(graph: OnnxGraph, op: Op) -> None:
    """Writes Conv with its bias."""
    operands = [op.operand(port) for port in ("x", "w", "bias")]
    attributes = {name: op.attributes[name] for name in _WINDOW}
    graph.node("Conv", operands, op.outputs, **attributes)


@emits("conv_transpose")
def conv_transpose(graph: OnnxGraph, op: Op) -> None:
    """Writes ConvTranspose if the weights have ONNX's shape, [c, m / group, kh, kw]."""
    x, w = graph.var(op.operand("x")), graph.var(op.operand("w"))
    group, y = op.attributes["group"], graph.var(op.outputs[0])
    if w.data is None or (w.shape[0], w.shape[1] * group) != (x.shape[1], y.shape[1]):
        raise refusal(op, f"weights of shape {list(w.shape)}")
    operands = [op.operand(port) for port in ("x", "w", "bias")]
    attributes = {name: op.attributes[name] for name in (*_WINDOW, "output_padding")}
    graph.node("ConvTranspose", operands, op.outputs, **attributes)


@emits("gemm")
def gemm(graph: OnnxGraph, op: Op) -> None:
    """Writes x [..., k] times weights [n, k]: Gemm for matrices, MatMul for other ranks."""
    x, w, bias = (op.operand(port) for port in ("x", "w", "bias"))
    if len(graph.var(x).shape) == 2:
        graph.node("Gemm", [x, w, bias], op.outputs, transB=1)
        return
    operands = [x, graph.node("Transpose", [w], perm=[1, 0])]
    if bias:
        graph.node("Add", [graph.node("MatMul", operands), bias], op.outputs)
    else:
        graph.node("MatMul", operands, op.outputs)


@emits("mat_mul")
def mat_mul(graph: OnnxGraph, op: Op) -> None:
    """Writes MatMul, after a Transpose of a transposed right operand."""
    a, b = op.inputs
    if op.attributes["transpose_b"]:
        *outer, row, column = range(len(graph.var(b).shape))
        b = graph.node("Transpose", [b], perm=[*outer, column, row])
    graph.node("MatMul", [a, b], op.outputs)


@emits("add")
def add(graph: OnnxGraph, op: Op) -> None:
    """Writes Add."""
    graph.node("Add", op.inputs, op.outputs)


@emits("max_pool")
def max_pool(graph: OnnxGraph, op: Op) -> None:
    """Writes MaxPool; a finite padding value needs a Pad before it."""
    x, values = op.inputs[0], attributes_of(op.schema, op.attributes)
    value, dtype = values.pop("pad_value"), graph.var(x).dtype
    if math.isfinite(value) and any(values["pads"]):
        if values["ceil_mode"]:
            raise refusal(op, "ceil_mode with a padding value")
        top, left, bottom, right = values["pads"]
        amounts = graph.constant([0, 0, top, left, 0, 0, bottom, right], "i64", "pads")
        x = graph.node("Pad", [x, amounts, graph.constant(value, dtype, "value")])
        values["pads"] = [0, 0, 0, 0]
    graph.node("MaxPool", [x], op.outputs[0], **values)


@emits("quantize_linear", "dequantize_linear")
def quantization(graph: OnnxGraph, op: Op) -> None:
    """Writes scale and zero point of the quantized variable as inputs."""
    quantizes = op.type == "quantize_linear"
    stored = graph.var(op.outputs[0] if quantizes else op.inputs[0])
    q = stored.quantization
    if q is None:
        raise refusal(op, "its quantized tensor has no scale")
    shape: tuple[int, ...] = () if q.axis is None else (-1,)
    scale = graph.constant(np.reshape(q.scale, shape), "f32", "scale")
    point = graph.constant(np.reshape(q.zero_point, shape), stored.dtype, "zero_point")
    axis = {} if q.axis is None else {"axis": q.axis}
    graph.node(op.schema.onnx, [op.inputs[0], scale, point], op.outputs[0], **axis)
