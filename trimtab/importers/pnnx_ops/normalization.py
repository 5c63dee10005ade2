"""Normalizations, with stored statistics or with those of the input."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers.pnnx_ops.operator import PnnxOperator, handles
from trimtab.importers.vocabulary import normalization


def _affine(op: PnnxOperator, shape: tuple[int, ...], first: int) -> normalization.Affine:
    """Optional scale and shift; those of a function are the operands from `first` on."""
    parameters = []
    for i, name in enumerate(("weight", "bias")):
        values = op.constant_operand(name, first + i)
        if values is not None and values.shape != shape:
            raise op.invalid(f"its {name} has shape {list(values.shape)}, expected {list(shape)}")
        parameters.append(values)
    return parameters[0], parameters[1]


@handles("nn.BatchNorm1d", "nn.BatchNorm2d", "nn.BatchNorm3d", "F.batch_norm")
def batch_norm(op: PnnxOperator) -> Value:
    """Batch normalization with stored statistics."""
    x = op.x(0, "input")
    channels = (x.shape[1] if len(x.shape) > 1 else 0,)
    mean = op.constant_operand("running_mean", 1)
    variance = op.constant_operand("running_var", 2)
    if mean is None or variance is None:
        raise op.unsupported("it uses the statistics of each batch")
    scale, shift = normalization.with_defaults(_affine(op, channels, 3), channels)
    epsilon = op.real("eps", 1e-5)
    return normalization.batch_norm(op, x, scale, shift, mean, variance, epsilon)


@handles("nn.InstanceNorm1d", "nn.InstanceNorm2d", "nn.InstanceNorm3d", "F.instance_norm")
def instance_norm(op: PnnxOperator) -> Value:
    """Normalizes each channel of each image."""
    x = op.x(0, "input")
    if len(x.shape) < 3:
        raise op.unsupported(f"its input has {len(x.shape)} dimensions")
    running = op.constant_operand("running_mean", 1)
    if running is not None:
        raise op.unsupported("it has stored statistics")
    affine = _affine(op, x.shape[1:2], 3)
    return normalization.instance_norm(op, x, affine, op.real("eps", 1e-5))


@handles("nn.GroupNorm", "F.group_norm")
def group_norm(op: PnnxOperator) -> Value:
    """Normalizes groups of channels, then applies scale and shift per channel."""
    x, group = op.x(0, "input"), op.integer("num_groups")
    affine = _affine(op, x.shape[1:2], 1)
    return normalization.group_norm(op, x, group, affine, op.real("eps", 1e-5))


def _last_dims(op: PnnxOperator, x: Value) -> tuple[int, ...]:
    shape = op.integers("normalized_shape")
    if not shape or x.shape[-len(shape) :] != shape:
        raise op.invalid(f"its normalized_shape {list(shape)} does not end {list(x.shape)}")
    return shape


@handles("nn.LayerNorm", "F.layer_norm")
def layer_norm(op: PnnxOperator) -> Value:
    """Normalization over the last axes."""
    x = op.x(0, "input")
    shape = _last_dims(op, x)
    axis, affine = len(x.shape) - len(shape), _affine(op, shape, 1)
    return normalization.layer_norm(op, x, axis, affine, op.real("eps", 1e-5))


@handles("nn.RMSNorm", "F.rms_norm")
def rms_norm(op: PnnxOperator) -> Value:
    """x / sqrt(mean(x^2) + eps), times an optional scale."""
    x = op.x(0, "input")
    axis = len(x.shape) - len(_last_dims(op, x))
    epsilon = op.real("eps", float(np.finfo(np.float32).eps))
    y = normalization.rms_norm(op, x, axis, epsilon)
    scale = op.constant_operand("weight", 1)
    return y if scale is None else op.add("mul", y, op.constant(scale, "scale"))


@handles("nn.LocalResponseNorm", "F.local_response_norm")
def local_response_norm(op: PnnxOperator) -> Value:
    """Local response normalization across channels."""
    numbers = op.real("alpha", 1e-4), op.real("beta", 0.75), op.real("k", 1.0)
    return normalization.lrn(op, op.x(0, "input"), op.integer("size"), *numbers)


@handles("F.normalize")
def normalize(op: PnnxOperator) -> Value:
    """x / max(|x|, eps) with the L1 or L2 norm along some axes."""
    x = op.x(0, "input")
    axes = tuple(op.axis(axis, len(x.shape)) for axis in op.integers("dim", 0, 1))
    return normalization.lp_norm(op, x, axes, op.real("p", 2.0), op.real("eps", 1e-12))
