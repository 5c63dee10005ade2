"""Convolutions, products of matrices, and what stands between them: pools and normalizations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trimtab.exporters._activations import finished
from trimtab.exporters._graph import Graph, emits, refusal
from trimtab.program import Op

_WINDOW = ("strides", "pads", "dilations")


def _given(op: Op, *names: str) -> dict[str, Any]:
    """Attributes that ONNX calls alike; truth values are numbers there."""
    values = {name: op.attributes[name] for name in names}
    return {k: int(v) if isinstance(v, bool) else v for k, v in values.items()}


@emits("conv")
def conv(graph: Graph, op: Op) -> None:
    """Bias stays with it; residual and activation are nodes of their own."""
    operands = [op.operand(port) for port in ("x", "w", "bias")]
    y = graph.node("Conv", operands, **_given(op, *_WINDOW, "group"))
    finished(graph, op, y, op.operand("residual"))


@emits("conv_transpose")
def conv_transpose(graph: Graph, op: Op) -> None:
    """Its weights lie as ONNX has them, [c, m / group, kh, kw], or turned around."""
    x, w = graph.var(op.operand("x")), graph.var(op.operand("w"))
    group, y = op.attributes["group"], graph.var(op.outputs[0])
    if w.data is None or (w.shape[0], w.shape[1] * group) != (x.shape[1], y.shape[1]):
        raise refusal(op, f"weights of shape {list(w.shape)}")
    operands = [op.operand(port) for port in ("x", "w", "bias")]
    attributes = _given(op, *_WINDOW, "group", "output_padding")
    finished(graph, op, graph.node("ConvTranspose", operands, **attributes))


@emits("gemm")
def gemm(graph: Graph, op: Op) -> None:
    """x [..., k] times weights [n, k]: Gemm of matrices, MatMul of anything else."""
    x, w, bias = (op.operand(port) for port in ("x", "w", "bias"))
    if len(graph.var(x).shape) == 2:
        y = graph.node("Gemm", [x, w, bias], transB=1)
    else:
        y = graph.node("MatMul", [x, graph.node("Transpose", [w], perm=[1, 0])])
        y = graph.node("Add", [y, bias]) if bias else y
    finished(graph, op, y, op.operand("residual"))


@emits("mat_mul")
def mat_mul(graph: Graph, op: Op) -> None:
    """numpy.matmul."""
    graph.node("MatMul", op.inputs, op.outputs[0])


@emits("add")
def add(graph: Graph, op: Op) -> None:
    """A sum may carry an activation."""
    finished(graph, op, graph.node("Add", op.inputs))


@emits("max_pool")
def max_pool(graph: Graph, op: Op) -> None:
    """ONNX pads with what no maximum is; another value is a node of its own."""
    x, given = op.inputs[0], _given(op, *_WINDOW, "kernel_shape", "ceil_mode")
    value, dtype = op.attributes["pad_value"], graph.var(x).dtype
    if math.isfinite(value) and any(given["pads"]):
        if given["ceil_mode"]:
            raise refusal(op, "windows that are padded with a number and rounded up")
        top, left, bottom, right = given["pads"]
        amounts = graph.constant([0, 0, top, left, 0, 0, bottom, right], "i64", "pads")
        x = graph.node("Pad", [x, amounts, graph.constant(value, dtype, "value")])
        given["pads"] = [0, 0, 0, 0]
    graph.node("MaxPool", [x], op.outputs[0], **given)


@emits("average_pool")
def average_pool(graph: Graph, op: Op) -> None:
    """The same attributes."""
    given = _given(op, *_WINDOW, "kernel_shape", "ceil_mode", "count_include_pad")
    graph.node("AveragePool", op.inputs, op.outputs[0], **given)


@emits("global_average_pool", "global_max_pool")
def global_pool(graph: Graph, op: Op) -> None:
    """Over height and width."""
    names = {"global_average_pool": "GlobalAveragePool", "global_max_pool": "GlobalMaxPool"}
    graph.node(names[op.type], op.inputs, op.outputs[0])


@emits("batch_normalization", "instance_normalization")
def normalization(graph: Graph, op: Op) -> None:
    """Per channel."""
    names = {
        "batch_normalization": "BatchNormalization",
        "instance_normalization": "InstanceNormalization",
    }
    graph.node(names[op.type], op.inputs, op.outputs[0], epsilon=op.attributes["epsilon"])


@emits("layer_normalization")
def layer_normalization(graph: Graph, op: Op) -> None:
    """Over the dimensions from an axis on."""
    graph.node("LayerNormalization", op.inputs, op.outputs[0], **_given(op, "axis", "epsilon"))


@emits("lrn")
def lrn(graph: Graph, op: Op) -> None:
    """Across channels."""
    graph.node("LRN", op.inputs, op.outputs[0], **_given(op, "size", "alpha", "beta", "bias"))


@emits("quantize_linear", "dequantize_linear")
def quantization(graph: Graph, op: Op) -> None:
    """Scale and zero point are of the variable that holds integers."""
    is_made = op.type == "quantize_linear"
    stored = graph.var(op.outputs[0] if is_made else op.inputs[0])
    found = stored.quantization
    if found is None:
        raise refusal(op, "nobody knows what its integers stand for")
    shape: tuple[int, ...] = () if found.axis is None else (-1,)
    scale = graph.constant(np.reshape(found.scale, shape), "f32", "scale")
    point = graph.constant(np.reshape(found.zero_point, shape), stored.dtype, "zero_point")
    axis = {} if found.axis is None else {"axis": found.axis}
    name = "QuantizeLinear" if is_made else "DequantizeLinear"
    graph.node(name, [op.inputs[0], scale, point], op.outputs[0], **axis)
