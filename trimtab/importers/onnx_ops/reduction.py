"""Softmax, LogSoftmax, Hardmax, reductions, LpNormalization, ArgMax, ArgMin."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import normalization
from trimtab.importers.vocabulary.movement import matrix
from trimtab.importers.vocabulary.reduction import reduced

SOFTMAX = {"Softmax": "softmax", "LogSoftmax": "log_softmax"}

KINDS = {
    "ReduceMean": "mean",
    "ReduceSum": "sum",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceL1": "l1",
    "ReduceL2": "l2",
    "ReduceSumSquare": "sum_square",
    "ReduceLogSum": "log_sum",
    "ReduceLogSumExp": "log_sum_exp",
}


@handles(*SOFTMAX, "Hardmax")
def softmax(node: OnnxNode) -> Results:
    """Along one axis; before opset 13, over all dimensions from the axis on."""
    together = node.opset < 13
    axis = node.integer("axis", 1 if together else -1)
    return normalized(node, node.x(), axis, together=together, along=_along)


def normalized(
    node: OnnxNode,
    x: Value,
    axis: int,
    *,
    together: bool,
    along: Callable[[OnnxNode, Value, int], Value],
) -> Value:
    """What `along` makes of `x`, or, where all dimensions from `axis` on are one `together`, of `x`
    as a matrix.
    """
    axis = node.axis(axis, len(x.shape))
    if not together or math.prod(x.shape[axis + 1 :]) == 1:
        return along(node, x, axis)
    return node.reshape(along(node, node.value(matrix(node, x, axis)), 1), x.shape)


def _along(node: OnnxNode, x: Value, axis: int) -> Value:
    if node.type in SOFTMAX:
        return node.add(SOFTMAX[node.type], x, axis=axis)
    # Hardmax: the row of a unit matrix that belongs to the first of the largest elements.
    largest = node.add("arg_max", x, axis=axis, keep_dims=False)
    unit = node.constant(np.eye(x.shape[axis], dtype=np.float32), "unit")
    y = node.add("gather", unit, largest, axis=0)
    places = list(range(len(x.shape) - 1))
    places.insert(axis, len(places))
    return node.transpose(y, places)


@handles(*KINDS)
def reduce(node: OnnxNode) -> Results:
    """Axes are an attribute or, in later opsets, an input; none at all means every axis."""
    axes = node.integers("axes") or node.optional_ints(1, "axes")
    if not axes and not node.integer("noop_with_empty_axes", 0):
        axes = tuple(range(len(node.shape())))
    kind, keep_dims = KINDS[node.type], node.boolean("keepdims", True)
    return reduced(node, kind, node.x(), axes, keep_dims=keep_dims)


@handles("LpNormalization")
def lp_normalization(node: OnnxNode) -> Results:
    """x / |x| along an axis; where the norm is 0, the result is."""
    axes = (node.axis(node.integer("axis", -1)),)
    return normalization.lp_norm(node, node.x(), axes, node.integer("p", 2))


@handles("ArgMax", "ArgMin")
def arg_max(node: OnnxNode) -> Results:
    """The least element is the largest of the negated ones."""
    x = node.x()
    return node.add(
        "arg_max",
        node.add("neg", x) if node.type == "ArgMin" else x,
        axis=node.axis(node.integer("axis", 0)),
        keep_dims=node.boolean("keepdims", True),
        select_last_index=node.boolean("select_last_index", False),
    )
