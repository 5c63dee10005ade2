"""Reductions and soft maxima."""

from __future__ import annotations

from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles
from trimtab.importers.vocabulary import reduction
from trimtab.importers.vocabulary.reduction import at_least_a_vector, reduced

_SOFTMAX = {"softmax": "softmax", "log_softmax": "log_softmax"}


@handles(*_SOFTMAX)
def softmax(node: PaddleNode) -> Results:
    """Along one axis."""
    return node.add(_SOFTMAX[node.type], node.x(), axis=node.axis(node.integer("axis", -1)))


@handles("reduce_mean", "reduce_sum", "reduce_max", "reduce_min")
def reduce(node: PaddleNode) -> Results:
    """Over some dimensions, or over all; all together leave a vector of one."""
    axes = node.integers("dim", (0,))
    if node.boolean("reduce_all", False) or not axes:
        axes = tuple(range(len(node.shape())))
    kind = node.type.removeprefix("reduce_")
    y = reduced(node, kind, node.x(), axes, keep_dims=node.boolean("keep_dim", False))
    return at_least_a_vector(node, y)


@handles("mean")
def mean(node: PaddleNode) -> Results:
    """Of everything."""
    y = reduced(node, "mean", node.x(), range(len(node.shape())), keep_dims=False)
    return at_least_a_vector(node, y)


@handles("arg_max", "arg_min")
def arg_max(node: PaddleNode) -> Results:
    """The least element is the largest of the negated ones."""
    x, axis = node.x(), node.integer("axis", -1)
    if node.boolean("flatten", False):
        x = node.reshape(x, (-1,))
    keep, least = node.boolean("keepdims", False), node.type == "arg_min"
    y = reduction.arg_max(node, x, axis, keep_dims=keep, least=least)
    return node.add("cast", y, to="i32") if node.dtype("dtype", 3) == "<i4" else y
