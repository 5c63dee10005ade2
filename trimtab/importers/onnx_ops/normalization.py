"""BatchNormalization, InstanceNormalization, LayerNormalization, LRN."""

from __future__ import annotations

import numpy as np

from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import normalization


def _epsilon(node: OnnxNode) -> float:
    return node.real("epsilon", 1e-5)


def _affine(node: OnnxNode) -> normalization.Affine:
    scale, bias = (node.known(i, "scale and bias") if node.has(i) else None for i in (1, 2))
    return scale, bias


@handles("BatchNormalization")
def batch_normalization(node: OnnxNode) -> Results:
    """x: [n, c, ...] with constant scale, bias, mean, variance: [c]."""
    if node.integer("training_mode", 0):
        raise node.unsupported("it is in training mode")
    if not node.integer("spatial", 1):
        raise node.unsupported("it normalizes each pixel separately (spatial = 0)")
    names = ("scale", "bias", "mean", "variance")
    scale, bias, mean, variance = (node.known(i, name) for i, name in enumerate(names, start=1))
    epsilon = _epsilon(node)
    return normalization.batch_norm(node, node.x(), scale, bias, mean, variance, epsilon)


@handles("InstanceNormalization")
def instance_normalization(node: OnnxNode) -> Results:
    """x: [n, c, ...] with constant scale and bias: [c]."""
    return normalization.instance_norm(node, node.x(), _affine(node), _epsilon(node))


@handles("LayerNormalization")
def layer_normalization(node: OnnxNode) -> Results:
    """Normalization over the axes from `axis` on, with constant scale and bias."""
    axis = node.axis(node.integer("axis", -1))
    return normalization.layer_norm(node, node.x(), axis, _affine(node), _epsilon(node))


@handles("LRN")
def lrn(node: OnnxNode) -> Results:
    """Local response normalization across channels; x: [n, c, ...]."""
    size = node.integer("size")
    return node.add("lrn", node.x(), size=size, **node.present("alpha", "beta", "bias"))


@handles("RMSNormalization")
def rms_normalization(node: OnnxNode) -> Results:
    """x / sqrt(mean(x^2) + epsilon) * scale, over the axes from `axis` on."""
    axis = node.axis(node.integer("axis", -1))
    return node.add("mul", normalization.rms_norm(node, node.x(), axis, _epsilon(node)), node.x(1))


@handles("GroupNormalization")
def group_normalization(node: OnnxNode) -> Results:
    """x: [n, c, ...] with constant scale and bias: [groups] before opset 21, later [c]."""
    x, groups = node.x(), node.integer("num_groups")
    node.check_elements((2, x.shape[1]))
    scale, bias = (
        np.repeat(factors, max(1, x.shape[1] // len(factors)))
        for factors in (node.known(i, "scale and bias") for i in (1, 2))
    )
    return normalization.group_norm(node, x, groups, (scale, bias), _epsilon(node))


@handles("MeanVarianceNormalization")
def mean_variance_normalization(node: OnnxNode) -> Results:
    """(x - mean) / (deviation + 1e-9), by default over batch and pixels."""
    axes = sorted(node.axis(axis) for axis in node.integers("axes", (0, 2, 3)))
    return normalization.mean_variance_norm(node, node.x(), axes, 1e-9)
