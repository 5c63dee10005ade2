"""Reductions over dimensions."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers.pnnx_ops.operator import Operator, handles


def _dropped(op: Operator, y: Value, axes: tuple[int, ...], default: bool = False) -> Value:
    """`y`, whose dimensions are all kept, without those that are 1 now, unless they stay."""
    if op.boolean("keepdim", default):
        return y
    shape = [n for i, n in enumerate(y.shape) if i not in axes]
    return op.reshape(y, shape or (1,))


@handles("torch.mean", "torch.sum", "torch.amax", "torch.amin")
def reduce(op: Operator) -> Value:
    """Over some dimensions, or all."""
    x = op.x(0, "input")
    kind = {"mean": "mean", "sum": "sum", "amax": "max", "amin": "min"}[op.type[6:]]
    axes = op.axes("dim", len(x.shape))
    return _dropped(op, op.add(f"reduce_{kind}", x, axes=axes), axes)


@handles("torch.max", "torch.min")
def extremum(op: Operator) -> Value | tuple[Value, ...]:
    """Over all dimensions, or over one; then also the places of maxima."""
    x = op.x(0, "input")
    axes = op.axes("dim", len(x.shape))
    values = _dropped(op, op.add(f"reduce_{op.type[6:]}", x, axes=axes), axes)
    if op.outputs == 1:
        return values
    if op.type != "torch.max" or len(axes) != 1:
        raise op.unsupported("it returns places")
    return values, _dropped(op, op.add("arg_max", x, axis=axes[0]), axes)


@handles("torch.argmax")
def arg_max(op: Operator) -> Value:
    """Where the maximum is along a dimension."""
    x = op.x(0, "input")
    if not op.has("dim"):
        x = op.reshape(x, (x.count,))
    axis = op.axis(op.integer("dim", 0), len(x.shape))
    return _dropped(op, op.add("arg_max", x, axis=axis), (axis,))


@handles("torch.norm")
def norm(op: Operator) -> Value:
    """Sum of amounts, or root of the sum of squares."""
    x = op.x(0, "input")
    order = op.static("p", 2)
    axes = op.axes("dim", len(x.shape))
    if order == 1:
        y = op.add("reduce_sum", op.add("abs", x), axes=axes)
    elif order in (2, "fro"):
        y = op.add("sqrt", op.add("reduce_sum", op.add("mul", x, x), axes=axes))
    else:
        raise op.unsupported(f"its order is {order}")
    return _dropped(op, y, axes)


@handles("torch.logsumexp")
def log_sum_exp(op: Operator) -> Value:
    """max + ln(sum(e^(x - max)))."""
    x = op.x(0, "input")
    axes = op.axes("dim", len(x.shape))
    most = op.add("reduce_max", x, axes=axes)
    total = op.add("reduce_sum", op.add("exp", op.add("sub", x, most)), axes=axes)
    return _dropped(op, op.add("add", op.add("log", total), most), axes)


@handles("torch.var", "torch.std")
def spread(op: Operator) -> Value:
    """Variance, or its root; as estimated from a sample unless told otherwise."""
    x = op.x(0, "input")
    axes = op.axes("dim", len(x.shape))
    count = math.prod(x.shape[axis] for axis in axes)
    correction = op.integer("correction", int(op.boolean("unbiased", True)))
    if count <= correction:
        raise op.invalid(f"it has {count} numbers only")
    y = op.add("sub", x, op.add("reduce_mean", x, axes=axes))
    y = op.add("reduce_sum", op.add("mul", y, y), axes=axes)
    y = op.scaled(y, float(np.float32(1 / (count - correction))))
    return _dropped(op, op.add("sqrt", y) if op.type.endswith("std") else y, axes)
