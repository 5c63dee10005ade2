"""Reduction and ArgMax."""

from __future__ import annotations

import math

from trimtab.importers._layers import Values
from trimtab.importers.caffe_ops.layer import Layer, handles


@handles("Reduction")
def reduction(layer: Layer) -> Values:
    """Over all dimensions from the axis on, which disappear."""
    param = layer.param("reduction_param")
    operation = param.choice("operation", ("", "SUM", "ASUM", "SUMSQ", "MEAN"), "SUM")
    axis = layer.axis(param.integer("axis", 0))
    x = layer.x()
    x = layer.reshape(x, (*x.shape[:axis], math.prod(x.shape[axis:])))
    if operation == "ASUM":
        x = layer.add("abs", x)
    elif operation == "SUMSQ":
        x = layer.add("mul", x, x)
    op = "reduce_mean" if operation == "MEAN" else "reduce_sum"
    y = layer.add(op, x, axes=(axis,), keep_dims=False)
    return layer.scale_and_shift(y, param.real("coeff", 1.0), 0.0)


@handles("ArgMax")
def arg_max(layer: Layer) -> Values:
    """Where the maximum is, as a real number: along an axis, or in all of an image."""
    param = layer.param("argmax_param")
    if param.integer("top_k", 1) != 1:
        raise layer.unsupported("its top_k is not 1")
    values = param.boolean("out_max_val", False)
    x = layer.x()
    if param.has("axis"):
        axis = layer.axis(param.integer("axis", 1))
        if values:
            return layer.add("reduce_max", x, axes=(axis,))
        return layer.add("cast", layer.add("arg_max", x, axis=axis), to="f32")
    rank, n = len(x.shape), x.shape[0]
    flat = layer.reshape(x, (n, math.prod(x.shape[1:])))
    y = layer.add("cast", layer.add("arg_max", flat, axis=1), to="f32")
    if values:
        y = layer.add("concat", y, layer.add("reduce_max", flat, axes=(1,)), axis=1)
    return layer.reshape(y, (n, y.shape[1], *[1] * (max(rank, 3) - 2)))
