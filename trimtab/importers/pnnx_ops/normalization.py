"""Normalizations, by collected or by present statistics."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers.pnnx_ops.operator import PnnxOperator, handles
from trimtab.importers.vocabulary import normalization


def _affine(op: PnnxOperator, shape: tuple[int, ...], first: int) -> normalization.Affine:
    """Factors and offsets, as far as there are some; functions have them from `first` on."""
    parts = []
    for i, name in enumerate(("weight", "bias")):
        values = op.constant_operand(name, first + i)
        if values is not None and values.shape != shape:
            raise op.invalid(f"its {name} is {list(values.shape)}, not {list(shape)}")
        parts.append(values)
    return parts[0], parts[1]


@handles("nn.BatchNorm1d", "nn.BatchNorm2d", "nn.BatchNorm3d", "F.batch_norm")
def batch_norm(op: PnnxOperator) -> Value:
    """By collected statistics."""
    x = op.x(0, "input")
    channels = (x.shape[1] if len(x.shape) > 1 else 0,)
    mean = op.constant_operand("running_mean", 1)
    variance = op.constant_operand("running_var", 2)
    if mean is None or variance is None:
        raise op.unsupported("it uses the statistics of each batch")
    scale, shift = normalization.whole(_affine(op, channels, 3), channels)
    epsilon = op.real("eps", 1e-5)
    return normalization.batch_norm(op, x, scale, shift, mean, variance, epsilon)


@handles("nn.InstanceNorm1d", "nn.InstanceNorm2d", "nn.InstanceNorm3d", "F.instance_norm")
def instance_norm(op: PnnxOperator) -> Value:
    """Each channel of each image over its pixels."""
    x = op.x(0, "input")
    if len(x.shape) < 3:
        raise op.unsupported(f"its input has {len(x.shape)} dimensions")
    running = op.constant_operand("running_mean", 1)
    if running is not None:
        raise op.unsupported("it has collected statistics")
    affine = _affine(op, x.shape[1:2], 3)
    return normalization.instance_norm(op, x, affine, op.real("eps", 1e-5))


@handles("nn.GroupNorm", "F.group_norm")
def group_norm(op: PnnxOperator) -> Value:
    """Groups of channels over their pixels, then factors and offsets per channel."""
    x, group = op.x(0, "input"), op.integer("num_groups")
    affine = _affine(op, x.shape[1:2], 1)
    return normalization.group_norm(op, x, group, affine, op.real("eps", 1e-5))


def _last_dims(op: PnnxOperator, x: Value) -> tuple[int, ...]:
    shape = op.integers("normalized_shape")
    if not shape or x.shape[-len(shape) :] != shape:
        raise op.invalid(f"its normalized_shape is {list(shape)}, of {list(x.shape)}")
    return shape


@handles("nn.LayerNorm", "F.layer_norm")
def layer_norm(op: PnnxOperator) -> Value:
    """The last dimensions by themselves."""
    x = op.x(0, "input")
    shape = _last_dims(op, x)
    axis, affine = len(x.shape) - len(shape), _affine(op, shape, 1)
    return normalization.layer_norm(op, x, axis, affine, op.real("eps", 1e-5))


@handles("nn.RMSNorm", "F.rms_norm")
def rms_norm(op: PnnxOperator) -> Value:
    """x / sqrt(mean(x^2) + eps), times factors."""
    x = op.x(0, "input")
    axis = len(x.shape) - len(_last_dims(op, x))
    epsilon = op.real("eps", float(np.finfo(np.float32).eps))
    y = normalization.rms_norm(op, x, axis, epsilon)
    scale = op.constant_operand("weight", 1)
    return y if scale is None else op.add("mul", y, op.constant(scale, "scale"))


@handles("nn.LocalResponseNorm", "F.local_response_norm")
def local_response_norm(op: PnnxOperator) -> Value:
    """Across neighboring channels."""
    numbers = op.real("alpha", 1e-4), op.real("beta", 0.75), op.real("k", 1.0)
    return normalization.lrn(op, op.x(0, "input"), op.integer("size"), *numbers)


@handles("F.normalize")
def normalize(op: PnnxOperator) -> Value:
    """Length 1 along dimensions; lengths below eps are taken for eps."""
    x = op.x(0, "input")
    axes = tuple(op.axis(axis, len(x.shape)) for axis in op.integers("dim", 0, 1))
    return normalization.lp_norm(op, x, axes, op.real("p", 2.0), op.real("eps", 1e-12))
