"""BatchNormalization, InstanceNormalization, LayerNormalization, LRN."""

from __future__ import annotations

import numpy as np

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
