"""Normalisations, by collected or by present statistics."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._layers import Array, Value
from trimtab.importers.pnnx_ops.operator import Operator, handles


def _affine(op: Operator, shape: tuple[int, ...], first: int) -> tuple[Array, Array]:
    """Factors and offsets, 1 and 0 when there are none; functions have them from `first` on."""
    parts = []
    for i, (name, missing) in enumerate((("weight", np.ones), ("bias", np.zeros))):
        values = op.constant_operand(name, first + i)
        values = missing(shape, np.float32) if values is None else values
        if values.shape != shape:
            raise op.invalid(f"its {name} is {list(values.shape)}, not {list(shape)}")
        parts.append(values)
    return parts[0], parts[1]


@handles("nn.BatchNorm1d", "nn.BatchNorm2d", "nn.BatchNorm3d", "F.batch_norm")
def batch_norm(op: Operator) -> Value:
    """By collected statistics."""
    x = op.x(0, "input")
    channels = (x.shape[1] if len(x.shape) > 1 else 0,)
    mean = op.constant_operand("running_mean", 1)
    variance = op.constant_operand("running_var", 2)
    if mean is None or variance is None:
        raise op.unsupported("it uses the statistics of each batch")
    scale, shift = _affine(op, channels, 3)
    parts = {"scale": scale, "shift": shift, "mean": mean, "variance": variance}
    constants = [op.constant(value, role) for role, value in parts.items()]
    return op.add("batch_normalization", x, *constants, epsilon=op.real("eps", 1e-5))


@handles("nn.InstanceNorm1d", "nn.InstanceNorm2d", "nn.InstanceNorm3d", "F.instance_norm")
def instance_norm(op: Operator) -> Value:
    """Each channel of each image over its pixels."""
    x = op.x(0, "input")
    if len(x.shape) < 3:
        raise op.unsupported(f"its input has {len(x.shape)} dimensions")
    running = op.constant_operand("running_mean", 1)
    if running is not None:
        raise op.unsupported("it has collected statistics")
    parts = zip(("scale", "shift"), _affine(op, (x.shape[1],), 3), strict=True)
    constants = [op.constant(value, role) for role, value in parts]
    return op.add("instance_normalization", x, *constants, epsilon=op.real("eps", 1e-5))


@handles("nn.GroupNorm", "F.group_norm")
def group_norm(op: Operator) -> Value:
    """Groups of channels over their pixels, then factors and offsets per channel."""
    x, group = op.x(0, "input"), op.integer("num_groups")
    if len(x.shape) < 2 or group < 1 or x.shape[1] % group:
        raise op.invalid(f"{group} groups do not fit {list(x.shape)}")
    n, channels = x.shape[:2]
    grouped = op.reshape(x, (n, group, -1))
    ones, zeros = np.ones(group, np.float32), np.zeros(group, np.float32)
    units = op.constant(ones, "one"), op.constant(zeros, "zero")
    y = op.add("instance_normalization", grouped, *units, epsilon=op.real("eps", 1e-5))
    scale, shift = _affine(op, (channels,), 1)
    rank = len(x.shape)
    y = op.add("mul", op.reshape(y, x.shape), op.constant(op.spread(scale, rank), "scale"))
    return op.add("add", y, op.constant(op.spread(shift, rank), "shift"))


def _last_dims(op: Operator, x: Value) -> tuple[int, ...]:
    shape = op.integers("normalized_shape")
    if not shape or x.shape[-len(shape) :] != shape:
        raise op.invalid(f"its normalized_shape is {list(shape)}, of {list(x.shape)}")
    return shape


@handles("nn.LayerNorm", "F.layer_norm")
def layer_norm(op: Operator) -> Value:
    """The last dimensions by themselves."""
    x = op.x(0, "input")
    shape = _last_dims(op, x)
    scale, shift = _affine(op, shape, 1)
    constants = op.constant(scale, "scale"), op.constant(shift, "shift")
    axis, epsilon = len(x.shape) - len(shape), op.real("eps", 1e-5)
    return op.add("layer_normalization", x, *constants, axis=axis, epsilon=epsilon)


@handles("nn.RMSNorm", "F.rms_norm")
def rms_norm(op: Operator) -> Value:
    """x / sqrt(mean(x^2) + eps), times factors."""
    x = op.x(0, "input")
    shape = _last_dims(op, x)
    axes = tuple(range(len(x.shape) - len(shape), len(x.shape)))
    squares = op.add("reduce_mean", op.add("mul", x, x), axes=axes)
    epsilon = op.constant(op.real("eps", float(np.finfo(np.float32).eps)), "epsilon")
    y = op.add("div", x, op.add("sqrt", op.add("add", squares, epsilon)))
    scale = op.constant_operand("weight", 1)
    return y if scale is None else op.add("mul", y, op.constant(scale, "scale"))


@handles("nn.LocalResponseNorm", "F.local_response_norm")
def local_response_norm(op: Operator) -> Value:
    """Across neighbouring channels."""
    return op.add(
        "lrn",
        op.x(0, "input"),
        size=op.integer("size"),
        alpha=op.real("alpha", 1e-4),
        beta=op.real("beta", 0.75),
        bias=op.real("k", 1.0),
    )


@handles("F.normalize")
def normalize(op: Operator) -> Value:
    """Length 1 along dimensions; lengths below eps are taken for eps."""
    x = op.x(0, "input")
    if (order := op.real("p", 2.0)) not in (1.0, 2.0):
        raise op.unsupported(f"its norm is of the order {order}")
    axes = tuple(op.axis(axis, len(x.shape)) for axis in op.integers("dim", 0, 1))
    if order == 2.0:
        length = op.add("sqrt", op.add("reduce_sum", op.add("mul", x, x), axes=axes))
    else:
        length = op.add("reduce_sum", op.add("abs", x), axes=axes)
    least = max(op.real("eps", 1e-12), float(np.finfo(np.float32).tiny))
    if not math.isfinite(least):
        raise op.invalid(f"its eps is {least}")
    return op.add("div", x, op.add("max", length, op.constant(least, "epsilon")))
