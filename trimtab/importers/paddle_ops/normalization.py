"""Normalizations."""

from __future__ import annotations

import math

from trimtab.importers.paddle_ops.activation import activate
from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles
from trimtab.importers.vocabulary import normalization
from trimtab.importers.vocabulary.reduction import reduced


@handles("batch_norm", "sync_batch_norm")
def batch_norm(node: PaddleNode) -> Results:
    """Batch normalization of x: [n, c, ...] or [n, ..., c] with stored statistics."""
    x = node.x()
    last = node.text("data_layout", "NCHW") == "NHWC" and len(x.shape) > 2
    rank = len(x.shape)
    if last:
        x = node.transpose(x, (0, rank - 1, *range(1, rank - 1)))
    slots = ("Scale", "Bias", "Mean", "Variance")
    scale, shift, mean, variance = (node.weights(slot, (x.shape[1],)) for slot in slots)
    y = normalization.batch_norm(node, x, scale, shift, mean, variance, node.real("epsilon", 1e-5))
    if last:
        y = node.transpose(y, (0, *range(2, rank), 1))
    return {"Y": activate(node, y, "relu" if node.boolean("fuse_with_relu", False) else "")}


def _affine(node: PaddleNode, shape: tuple[int, ...]) -> normalization.Affine:
    count = (math.prod(shape),)
    scale, shift = (
        node.weights(slot, count).reshape(shape) if node.has(slot) else None
        for slot in ("Scale", "Bias")
    )
    return scale, shift


@handles("instance_norm")
def instance_norm(node: PaddleNode) -> Results:
    """Normalizes each channel of each image; x: [n, c, ...]."""
    x, epsilon = node.x(), node.real("epsilon", 1e-5)
    return {"Y": normalization.instance_norm(node, x, _affine(node, x.shape[1:2]), epsilon)}


@handles("layer_norm")
def layer_norm(node: PaddleNode) -> Results:
    """Normalization over all axes from begin_norm_axis on."""
    x, epsilon = node.x(), node.real("epsilon", 1e-5)
    axis = node.axis(node.integer("begin_norm_axis", 1))
    return {"Y": normalization.layer_norm(node, x, axis, _affine(node, x.shape[axis:]), epsilon)}


@handles("group_norm")
def group_norm(node: PaddleNode) -> Results:
    """Normalizes groups of channels; x: [n, c, ...]."""
    x, groups = node.x(), node.integer("groups")
    if node.text("data_layout", "NCHW") == "NHWC":
        raise node.unsupported("its channels are the last axis")
    affine, epsilon = _affine(node, x.shape[1:2]), node.real("epsilon", 1e-5)
    return {"Y": normalization.group_norm(node, x, groups, affine, epsilon)}


@handles("lrn")
def lrn(node: PaddleNode) -> Results:
    """Local response normalization; unlike the engine, Paddle does not divide alpha by the size."""
    size = node.integer("n", 5)
    alpha, beta = node.real("alpha", 1e-4) * size, node.real("beta", 0.75)
    return normalization.lrn(node, node.image(), size, alpha, beta, node.real("k", 2.0))


@handles("norm", "p_norm")
def norm(node: PaddleNode) -> Results:
    """L2 norm along an axis (p_norm), or L2 normalization (norm)."""
    x = node.x()
    if node.type == "norm":
        axis = node.axis(node.integer("axis", -1))
        return {"Out": normalization.l2_norm(node, x, (axis,), added=node.real("epsilon", 1e-10))}
    if node.real("porder", 2.0) != 2.0:
        raise node.unsupported(f"its order is {node.real('porder')}, not 2")
    if node.boolean("asvector", False):
        x = node.reshape(x, (-1,))
    axes, keep_dims = (node.integer("axis", -1),), node.boolean("keepdim", False)
    return reduced(node, "l2", x, axes, keep_dims=keep_dims)
