"""Softmax, LogSoftmax, Hardmax, reductions, LpNormalization, ArgMax, ArgMin."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import normalization
from trimtab.importers.vocabulary import reduction as extremes
from trimtab.importers.vocabulary.movement import flatten_to_matrix
from trimtab.importers.vocabulary.reduction import halved, reduced

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
    """Along one axis; before opset 13, over all axes from `axis` on."""
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
    """Applies `along` to an axis of `x`; if `together`, to all axes from `axis` on as one."""
    axis = node.axis(axis, len(x.shape))
    if not together or math.prod(x.shape[axis + 1 :]) == 1:
        return along(node, x, axis)
    return node.reshape(along(node, node.value(flatten_to_matrix(node, x, axis)), 1), x.shape)


def _along(node: OnnxNode, x: Value, axis: int) -> Value:
    if node.type in SOFTMAX:
        return node.add(SOFTMAX[node.type], x, axis=axis)
    # Hardmax: the row of an identity matrix for the index of the maximum.
    largest = node.add("arg_max", x, axis=axis, keep_dims=False)
    node.check_elements((x.shape[axis], x.shape[axis]))
    unit = node.constant(np.eye(x.shape[axis], dtype=np.float32), "unit")
    y = node.add("gather", unit, largest, axis=0)
    permutation = list(range(len(x.shape) - 1))
    permutation.insert(axis, len(permutation))
    return node.transpose(y, permutation)


@handles(*KINDS, "ReduceProd")
def reduce(node: OnnxNode) -> Results:
    """Reduction over axes, an attribute or in later opsets a constant input; by default all."""
    axes = node.integers("axes") or node.optional_ints(1, "axes")
    if not axes and not node.integer("noop_with_empty_axes", 0):
        axes = tuple(range(len(node.shape())))
    x, keep_dims = node.x(), node.boolean("keepdims", True)
    if node.type == "ReduceProd":
        axes = tuple(node.axis(axis) for axis in axes)
        return halved(node, "mul", x, axes, keep_dims=keep_dims)
    return reduced(node, KINDS[node.type], x, axes, keep_dims=keep_dims)


@handles("LpNormalization")
def lp_normalization(node: OnnxNode) -> Results:
    """x / |x| along an axis, or 0 where the norm is 0."""
    axes = (node.axis(node.integer("axis", -1)),)
    return normalization.lp_norm(node, node.x(), axes, node.integer("p", 2))


@handles("ArgMax", "ArgMin")
def arg_max(node: OnnxNode) -> Results:
    """The index of the maximum or minimum, of floats or integers."""
    return extremes.arg_max(
        node,
        node.x(),
        node.integer("axis", 0),
        keep_dims=node.boolean("keepdims", True),
        minimum=node.type == "ArgMin",
        last=node.boolean("select_last_index", False),
    )
