"""Softmax, LogSoftmax, reductions, ArgMax, ArgMin."""

from __future__ import annotations

import math

from trimtab.importers.onnx_ops.node import Node, Values, handles

SOFTMAX = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}
REDUCE = {
    "ReduceMean": "reduce_mean",
    "ReduceSum": "reduce_sum",
    "ReduceMax": "reduce_max",
    "ReduceMin": "reduce_min",
}


@handles(*SOFTMAX)
def softmax(node: Node) -> Values:
    """Along one axis; before opset 13, over all dimensions from the axis on."""
    op, x = SOFTMAX[node.op_type], node.x(0)
    rank = len(x.shape)
    axis = node.axis(node.integer("axis", -1 if node.opset >= 13 else 1), rank)
    if node.opset >= 13 or math.prod(x.shape[axis + 1 :]) == 1:
        return node.add(op, x, axis=axis)
    rows = node.add("reshape", x, shape=(math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    return node.add("reshape", node.add(op, rows, axis=1), shape=x.shape)


@handles(*REDUCE)
def reduce(node: Node) -> Values:
    """Axes are an attribute or, in later opsets, an input; none at all means every axis."""
    x = node.x(0)
    axes = node.integers("axes") or node.optional_ints(1, "axes")
    if not axes and node.integer("noop_with_empty_axes", 0):
        return x
    rank = len(x.shape)
    axes = tuple(sorted({node.axis(a, rank) for a in axes})) or tuple(range(rank))
    return node.add(REDUCE[node.op_type], x, axes=axes, keep_dims=bool(node.integer("keepdims", 1)))


@handles("ArgMax", "ArgMin")
def arg_max(node: Node) -> Values:
    """The least element is the largest of the negated ones."""
    x = node.x(0)
    if node.op_type == "ArgMin":
        x = node.add("neg", x)
    return node.add(
        "arg_max",
        x,
        axis=node.axis(node.integer("axis", 0), len(x.shape)),
        keep_dims=bool(node.integer("keepdims", 1)),
        select_last_index=bool(node.integer("select_last_index", 0)),
    )
