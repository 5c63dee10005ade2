"""Softmax, LogSoftmax, Hardmax, reductions, LpNormalization, ArgMax, ArgMin."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers.onnx_ops.node import Node, Value, Values, handles

SOFTMAX = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}
REDUCE = {
    "ReduceMean": "reduce_mean",
    "ReduceSum": "reduce_sum",
    "ReduceMax": "reduce_max",
    "ReduceMin": "reduce_min",
}


# What is done to x before its sum, and to the sum.
SUMS = {
    "ReduceL1": ("abs", ""),
    "ReduceL2": ("square", "sqrt"),
    "ReduceSumSquare": ("square", ""),
    "ReduceLogSum": ("", "log"),
}


@handles(*SOFTMAX, "Hardmax")
def softmax(node: Node) -> Values:
    """Along one axis; before opset 13, over all dimensions from the axis on."""
    x = node.x(0)
    rank = len(x.shape)
    axis = node.axis(node.integer("axis", -1 if node.opset >= 13 else 1), rank)
    if node.opset >= 13 or math.prod(x.shape[axis + 1 :]) == 1:
        return _along(node, x, axis)
    rows = node.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    return node.reshape(_along(node, rows, 1), x.shape)


def _along(node: Node, x: Value, axis: int) -> Value:
    if node.op_type in SOFTMAX:
        return node.add(SOFTMAX[node.op_type], x, axis=axis)
    # Hardmax: the row of a unit matrix that belongs to the first of the largest elements.
    largest = node.add("arg_max", x, axis=axis, keep_dims=False)
    unit = node.new_constant(np.eye(x.shape[axis], dtype=np.float32), "unit")
    y = node.add("gather", unit, largest, axis=0)
    places = list(range(len(x.shape) - 1))
    places.insert(axis, len(places))
    return node.add("transpose", y, permutation=tuple(places))


def _axes(node: Node) -> tuple[int, ...]:
    """The dimensions to reduce; none at all when the node says so."""
    axes = node.integers("axes") or node.optional_ints(1, "axes")
    if not axes and node.integer("noop_with_empty_axes", 0):
        return ()
    rank = len(node.x(0).shape)
    return tuple(sorted({node.axis(a, rank) for a in axes})) or tuple(range(rank))


def _reduce(node: Node, op: str, x: Value, axes: tuple[int, ...]) -> Value:
    return node.add(op, x, axes=axes, keep_dims=bool(node.integer("keepdims", 1))) if axes else x


@handles(*REDUCE)
def reduce(node: Node) -> Values:
    """Axes are an attribute or, in later opsets, an input; none at all means every axis."""
    return _reduce(node, REDUCE[node.op_type], node.x(0), _axes(node))


@handles(*SUMS)
def reduce_sum_of(node: Node) -> Values:
    """A function of the sum of a function of the elements."""
    before, after = SUMS[node.op_type]
    x = node.x(0)
    if before:
        x = node.add("mul", x, x) if before == "square" else node.add(before, x)
    y = _reduce(node, "reduce_sum", x, _axes(node))
    return node.add(after, y) if after else y


@handles("ReduceLogSumExp")
def reduce_log_sum_exp(node: Node) -> Values:
    """log(sum(exp(x))), about the largest element: no exponential overflows."""
    x, axes = node.x(0), _axes(node)
    if not axes:
        return x
    largest = node.add("reduce_max", x, axes=axes, keep_dims=True)
    exponentials = node.add("exp", node.add("sub", x, largest))
    y = node.add("log", node.add("reduce_sum", exponentials, axes=axes, keep_dims=True))
    y = node.add("add", y, largest)
    if node.integer("keepdims", 1):
        return y
    return node.reshape(y, [n for i, n in enumerate(x.shape) if i not in axes])


@handles("LpNormalization")
def lp_normalization(node: Node) -> Values:
    """x / |x| along an axis; where the norm is 0, the result is."""
    x, order = node.x(0), node.integer("p", 2)
    along = {"axes": (node.axis(node.integer("axis", -1), len(x.shape)),), "keep_dims": True}
    if order == 1:
        norm = node.add("reduce_sum", node.add("abs", x), **along)
    elif order == 2:
        norm = node.add("sqrt", node.add("reduce_sum", node.add("mul", x, x), **along))
    else:
        raise node.unsupported(f"its p is {order}")
    tiny = node.scalar(float(np.finfo(np.float32).tiny), "tiny")
    return node.add("div", x, node.add("max", norm, tiny))


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
