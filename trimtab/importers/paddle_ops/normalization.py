"""Normalisations."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers.paddle_ops.activation import activate
from trimtab.importers.paddle_ops.node import Node, Results, handles


@handles("batch_norm", "sync_batch_norm")
def batch_norm(node: Node) -> Results:
    """x: [n, c, ...], or [n, ..., c]; statistics of training are constants."""
    x = node.x()
    last = node.text("data_layout", "NCHW") == "NHWC" and len(x.shape) > 2
    rank = len(x.shape)
    if last:
        x = node.transpose(x, (0, rank - 1, *range(1, rank - 1)))
    slots = ("Scale", "Bias", "Mean", "Variance")
    constants = [node.constant_of(node.weights(s, (x.shape[1],)), s) for s in slots]
    y = node.add("batch_normalization", x, *constants, epsilon=node.real("epsilon", 1e-5))
    if last:
        y = node.transpose(y, (0, *range(2, rank), 1))
    return {"Y": activate(node, y, "relu" if node.boolean("fuse_with_relu", False) else "")}


@handles("instance_norm")
def instance_norm(node: Node) -> Results:
    """x: [n, c, ...]."""
    x = node.x()
    channels = x.shape[1]
    constants = [
        node.constant_of(node.weights(slot, (channels,)), slot)
        if node.has(slot)
        else node.constant(np.full(channels, default, np.float32), slot)
        for slot, default in (("Scale", 1.0), ("Bias", 0.0))
    ]
    epsilon = node.real("epsilon", 1e-5)
    return {"Y": node.add("instance_normalization", x, *constants, epsilon=epsilon)}


@handles("layer_norm")
def layer_norm(node: Node) -> Results:
    """Over all dimensions from an axis on."""
    x = node.x()
    axis = node.axis(node.integer("begin_norm_axis", 1), len(x.shape))
    shape = x.shape[axis:]
    constants = []
    for slot, default in (("Scale", 1.0), ("Bias", 0.0)):
        if node.has(slot):
            value = node.weights(slot, (math.prod(shape),)).reshape(shape)
        elif slot == "Scale" or not node.has("Scale"):
            value = np.full(shape, default, np.float32)
        else:
            continue
        constants.append(node.constant(value, slot))
    epsilon = node.real("epsilon", 1e-5)
    return {"Y": node.add("layer_normalization", x, *constants, axis=axis, epsilon=epsilon)}


@handles("group_norm")
def group_norm(node: Node) -> Results:
    """x: [n, c, ...]: groups of channels are instances of their own."""
    x, groups = node.x(), node.integer("groups")
    if node.text("data_layout", "NCHW") == "NHWC":
        raise node.unsupported("its channels come last")
    n, channels = x.shape[0], x.shape[1]
    if groups < 1 or channels % groups:
        raise node.invalid(f"{groups} groups do not divide {channels} channels")
    ones, zeros = np.ones(groups, np.float32), np.zeros(groups, np.float32)
    y = node.add(
        "instance_normalization",
        node.reshape(x, (n, groups, math.prod(x.shape[1:]) // groups)),
        node.constant(ones, "ones"),
        node.constant(zeros, "zeros"),
        epsilon=node.real("epsilon", 1e-5),
    )
    y = node.reshape(y, x.shape)
    per_channel = (channels, *(1,) * (len(x.shape) - 2))
    for slot, op in (("Scale", "mul"), ("Bias", "add")):
        if node.has(slot):
            value = node.weights(slot, (channels,)).reshape(per_channel)
            y = node.add(op, y, node.constant(value, slot))
    return {"Y": y}


@handles("lrn")
def lrn(node: Node) -> Results:
    """Unlike the engine's, alpha is not divided by the size."""
    size = node.integer("n", 5)
    return node.add(
        "lrn",
        node.image(),
        size=size,
        alpha=node.real("alpha", 1e-4) * size,
        beta=node.real("beta", 0.75),
        bias=node.real("k", 2.0),
    )


@handles("norm", "p_norm")
def norm(node: Node) -> Results:
    """The length of vectors along an axis (p_norm), or vectors of length 1 (norm)."""
    x = node.x()
    if node.type == "norm":
        axis = node.axis(node.integer("axis", -1), len(x.shape))
        squares = _squares(node, x, axis, keep_dims=True)
        length = node.add("sqrt", node.scale_and_shift(squares, 1.0, node.real("epsilon", 1e-10)))
        return {"Out": node.add("div", x, length)}
    if node.real("porder", 2.0) != 2.0:
        raise node.unsupported(f"its order is {node.real('porder')}, not 2")
    if node.boolean("asvector", False):
        x = node.reshape(x, (math.prod(x.shape),))
    axis = node.axis(node.integer("axis", -1), len(x.shape))
    return node.add("sqrt", _squares(node, x, axis, keep_dims=node.boolean("keepdim", False)))


def _squares(node: Node, x: Value, axis: int, *, keep_dims: bool) -> Value:
    return node.add("reduce_sum", node.add("mul", x, x), axes=(axis,), keep_dims=keep_dims)
