"""Reductions and soft maxima."""

from __future__ import annotations

from trimtab.importers.paddle_ops.node import Node, Results, handles

_SOFTMAX = {"softmax": "softmax", "log_softmax": "log_softmax"}


@handles(*_SOFTMAX)
def softmax(node: Node) -> Results:
    """Along one axis."""
    x = node.x()
    return node.add(_SOFTMAX[node.type], x, axis=node.axis(node.integer("axis", -1), len(x.shape)))


@handles("reduce_mean", "reduce_sum", "reduce_max", "reduce_min")
def reduce(node: Node) -> Results:
    """Over some dimensions, or over all; all together leave a vector of one."""
    x = node.x()
    rank = len(x.shape)
    axes = tuple(sorted({node.axis(a, rank) for a in node.integers("dim", (0,))}))
    if node.boolean("reduce_all", False) or not axes:
        axes = tuple(range(rank))
    keep = node.boolean("keep_dim", False)
    y = node.add(node.type, x, axes=axes, keep_dims=keep or len(axes) == rank)
    return y if keep or len(axes) < rank else node.reshape(y, (1,))


@handles("mean")
def mean(node: Node) -> Results:
    """Of everything."""
    x = node.x()
    y = node.add("reduce_mean", x, axes=tuple(range(len(x.shape))), keep_dims=True)
    return node.reshape(y, (1,))


@handles("arg_max", "arg_min")
def arg_max(node: Node) -> Results:
    """The least element is the largest of the negated ones."""
    x = node.x()
    if node.boolean("flatten", False):
        x = node.reshape(x, (x.count,))
    if node.type == "arg_min":
        x = node.add("neg", x)
    y = node.add(
        "arg_max",
        x,
        axis=node.axis(node.integer("axis", -1), len(x.shape)),
        keep_dims=node.boolean("keepdims", False),
    )
    return node.add("cast", y, to="i32") if node.dtype("dtype", 3) == "<i4" else y
