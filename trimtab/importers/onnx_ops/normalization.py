"""BatchNormalization, InstanceNormalization, LayerNormalization, LRN."""

from __future__ import annotations

import math

import numpy as np

from trimtab.errors import ImportModelError
from trimtab.importers.onnx_ops.node import Node, Values, handles


@handles("BatchNormalization")
def batch_normalization(node: Node) -> Values:
    """x: [n, c, ...] with constant scale, bias, mean, variance: [c]."""
    node.only_first_output()
    if node.integer("training_mode", 0):
        raise node.unsupported("it is in training mode")
    if not node.integer("spatial", 1):
        raise node.unsupported("it normalises every pixel on its own (spatial = 0)")
    names = ("scale", "bias", "mean", "variance")
    constants = [
        node.new_constant(node.constant(i, name), name) for i, name in enumerate(names, start=1)
    ]
    return node.add("batch_normalization", node.x(0), *constants, **node.given("epsilon"))


@handles("InstanceNormalization")
def instance_normalization(node: Node) -> Values:
    """x: [n, c, ...] with constant scale and bias: [c]."""
    constants = [
        node.new_constant(node.constant(i, name), name)
        for i, name in enumerate(("scale", "bias"), start=1)
    ]
    return node.add("instance_normalization", node.x(0), *constants, **node.given("epsilon"))


@handles("LayerNormalization")
def layer_normalization(node: Node) -> Values:
    """Constant scale and bias, broadcast to the dimensions of x from axis on."""
    node.only_first_output()
    x = node.x(0)
    axis = node.axis(node.integer("axis", -1), len(x.shape))
    constants = [
        node.new_constant(np.ascontiguousarray(np.broadcast_to(value, x.shape[axis:])), name)
        for i, name in enumerate(("scale", "bias"), start=1)
        if node.has(i)
        for value in [node.constant(i, name)]
    ]
    return node.add("layer_normalization", x, *constants, axis=axis, **node.given("epsilon"))


@handles("LRN")
def lrn(node: Node) -> Values:
    """x: [n, c, ...]."""
    size = node.integer("size")
    return node.add("lrn", node.x(0), size=size, **node.given("alpha", "beta", "bias"))


@handles("RMSNormalization")
def rms_normalization(node: Node) -> Values:
    """x / sqrt(mean(x^2) + epsilon) * scale, over the dimensions from axis on."""
    x = node.x(0)
    axes = tuple(range(node.axis(node.integer("axis", -1), len(x.shape)), len(x.shape)))
    mean = node.add("reduce_mean", node.add("mul", x, x), axes=axes, keep_dims=True)
    variance = node.add("add", mean, node.scalar(node.real("epsilon", 1e-5), "epsilon"))
    return node.add("mul", node.add("div", x, node.add("sqrt", variance)), node.x(1))


@handles("GroupNormalization")
def group_normalization(node: Node) -> Values:
    """x: [n, c, ...]; scale and bias, constant: [groups] before opset 21, then [c]."""
    x, groups = node.x(0), node.integer("num_groups")
    n, c = x.shape[:2]
    if groups < 1 or c % groups:
        raise ImportModelError(f"{groups} groups do not divide {c} channels", where=node.where)
    unit = [node.new_constant(make(groups, np.float32), "unit") for make in (np.ones, np.zeros)]
    grouped = node.reshape(x, (n, groups, math.prod(x.shape[1:]) // groups, 1))
    y = node.add("instance_normalization", grouped, *unit, **node.given("epsilon"))
    y = node.reshape(y, x.shape)
    for i, op in ((1, "mul"), (2, "add")):
        factors = node.constant(i, "scale and bias")
        factors = np.repeat(factors, c // len(factors)).reshape(c, *[1] * (len(x.shape) - 2))
        y = node.add(op, y, node.new_constant(factors, "scale" if i == 1 else "bias"))
    return y


@handles("MeanVarianceNormalization")
def mean_variance_normalization(node: Node) -> Values:
    """(x - mean) / (deviation + 1e-9), over batch and pixels unless axes are given."""
    x = node.x(0)
    axes = tuple(sorted(node.axis(a, len(x.shape)) for a in node.integers("axes", (0, 2, 3))))
    y = node.add("sub", x, node.add("reduce_mean", x, axes=axes, keep_dims=True))
    variance = node.add("reduce_mean", node.add("mul", y, y), axes=axes, keep_dims=True)
    deviation = node.add("add", node.add("sqrt", variance), node.scalar(1e-9, "epsilon"))
    return node.add("div", y, deviation)
