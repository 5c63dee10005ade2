"""Reductions, softmax, argmax."""

from __future__ import annotations

from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles
from trimtab.importers.vocabulary import reduction
from trimtab.importers.vocabulary.reduction import at_least_a_vector, reduced

_SOFTMAX = {"softmax": "softmax", "log_softmax": "log_softmax"}


@handles(*_SOFTMAX)
def softmax(node: PaddleNode) -> Results:
    """Softmax or its logarithm along an axis."""
    return node.add(_SOFTMAX[node.type], node.x(), axis=node.axis(node.integer("axis", -1)))


@handles("reduce_mean", "reduce_sum", "reduce_max", "reduce_min")
def reduce(node: PaddleNode) -> Results:
    """Reduction over some axes or all; the result over all axes is a vector of one element."""
    axes = node.integers("dim", (0,))
    if node.boolean("reduce_all", False) or not axes:
        axes = tuple(range(len(node.shape())))
    kind = node.type.removeprefix("reduce_")
    y = reduced(node, kind, node.x(), axes, keep_dims=node.boolean("keep_dim", False))
    return at_least_a_vector(node, y)


@handles("mean")
def mean(node: PaddleNode) -> Results:
    """The mean of all elements."""
    y = reduced(node, "mean", node.x(), range(len(node.shape())), keep_dims=False)
    return at_least_a_vector(node, y)


@handles("arg_max", "arg_min")
def arg_max(node: PaddleNode) -> Results:
    """The index of the maximum, or of the minimum as the maximum of -x."""
    x, axis = node.x(), node.integer("axis", -1)
    if node.boolean("flatten", False):
        x = node.reshape(x, (-1,))
    keep, minimum = node.boolean("keepdims", False), node.type == "arg_min"
    y = reduction.arg_max(node, x, axis, keep_dims=keep, minimum=minimum)
    return node.add("cast", y, to="i32") if node.dtype("dtype", 3) == "<i4" else y
