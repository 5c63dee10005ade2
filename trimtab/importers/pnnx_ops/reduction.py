"""Reductions over axes."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers.pnnx_ops.operator import PnnxOperator, handles
from trimtab.importers.vocabulary.reduction import arg_max, at_least_a_vector, reduced


def _reduced(op: PnnxOperator, kind: str, x: Value, axes: tuple[int, ...]) -> Value:
    """Reduces `x`; keepdim keeps the reduced axes as dimensions of 1."""
    y = reduced(op, kind, x, axes, keep_dims=op.boolean("keepdim", False))
    return at_least_a_vector(op, y)


@handles("torch.mean", "torch.sum", "torch.amax", "torch.amin")
def reduce(op: PnnxOperator) -> Value:
    """Reduction over some axes or all."""
    x = op.x(0, "input")
    kind = op.type.removeprefix("torch.").removeprefix("a")
    return _reduced(op, kind, x, op.axes("dim", len(x.shape)))


@handles("torch.max", "torch.min")
def extremum(op: PnnxOperator) -> Value | tuple[Value, ...]:
    """Maximum or minimum over all axes or one; a maximum over one also has indices."""
    x = op.x(0, "input")
    axes = op.axes("dim", len(x.shape))
    values = _reduced(op, op.type[6:], x, axes)
    if len(op.outputs) == 1:
        return values
    if op.type != "torch.max" or len(axes) != 1:
        raise op.unsupported("it returns indices")
    return values, _indices(op, x, axes[0])


def _indices(op: PnnxOperator, x: Value, axis: int) -> Value:
    keep = op.boolean("keepdim", False)
    return at_least_a_vector(op, arg_max(op, x, axis, keep_dims=keep))


@handles("torch.argmax")
def arg_maximum(op: PnnxOperator) -> Value:
    """The index of the maximum along an axis, or in the flattened tensor."""
    x = op.x(0, "input")
    return _indices(op, x if op.has("dim") else op.reshape(x, (-1,)), op.integer("dim", 0))


@handles("torch.norm")
def norm(op: PnnxOperator) -> Value:
    """L1 or L2 norm over some axes."""
    x = op.x(0, "input")
    order = op.static("p", 2)
    axes = op.axes("dim", len(x.shape))
    if order not in (1, 2, "fro"):
        raise op.unsupported(f"its order is {order}")
    return _reduced(op, "l1" if order == 1 else "l2", x, axes)


@handles("torch.logsumexp")
def log_sum_exp(op: PnnxOperator) -> Value:
    """ln(sum(e^x)) over some axes."""
    x = op.x(0, "input")
    return _reduced(op, "log_sum_exp", x, op.axes("dim", len(x.shape)))


@handles("torch.var", "torch.std")
def spread(op: PnnxOperator) -> Value:
    """Variance or standard deviation, by default with Bessel's correction."""
    x = op.x(0, "input")
    axes = op.axes("dim", len(x.shape))
    count = math.prod(x.shape[axis] for axis in axes)
    correction = op.integer("correction", int(op.boolean("unbiased", True)))
    if count <= correction:
        raise op.invalid(f"it has {count} elements, more than {correction} are needed")
    y = op.add("sub", x, op.add("reduce_mean", x, axes=axes))
    y = _reduced(op, "sum_square", y, axes)
    y = op.scaled(y, float(np.float32(1 / (count - correction))))
    return op.add("sqrt", y) if op.type.endswith("std") else y
