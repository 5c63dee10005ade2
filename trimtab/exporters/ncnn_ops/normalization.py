"""Normalizations, softmax and reductions."""

from __future__ import annotations

import math

import numpy as np

from trimtab.exporters.ncnn_ops.graph import NcnnOp, emits, raw

_REDUCTIONS = {"reduce_sum": 0, "reduce_mean": 3, "reduce_max": 4, "reduce_min": 5}


@emits("batch_normalization")
def batch_normalization(op: NcnnOp) -> str:
    """BatchNorm."""
    values = [op.constant(port) for port in ("scale", "mean", "variance", "bias")]
    params = {0: values[0].size, 1: float(op["epsilon"])}
    return op.add("BatchNorm", op.x("x"), params, [raw(v) for v in values])


@emits("instance_normalization")
def instance_normalization(op: NcnnOp) -> str:
    """InstanceNorm with factors and offsets."""
    op.image()
    scale, bias = op.constant("scale"), op.constant("bias")
    params = {0: scale.size, 1: float(op["epsilon"]), 2: 1}
    return op.add("InstanceNorm", op.x("x"), params, [raw(scale), raw(bias)])


@emits("layer_normalization")
def layer_normalization(op: NcnnOp) -> str:
    """LayerNorm of rows; further dimensions are merged into them."""
    shape, scale, bias = op.shape("x"), op.constant("scale"), op.optional("bias")
    axis, x = op["axis"] % len(shape), op.x("x")
    if axis == 0:
        raise op.refusal("its axis is the batch, which ncnn lacks")
    rows = (1, math.prod(shape[1:axis]), math.prod(shape[axis:]))
    params = {0: scale.size, 1: float(op["epsilon"]), 2: 1}
    weights = [raw(scale), raw(np.zeros_like(scale) if bias is None else bias)]
    if rows == shape:
        return op.add("LayerNorm", x, params, weights)
    y = op.add("LayerNorm", op.reshape(x, rows), params, weights)
    return op.reshape(y, shape)


@emits("lrn")
def lrn(op: NcnnOp) -> str:
    """LRN across channels."""
    op.image()
    params = {1: op["size"], 2: float(op["alpha"]), 3: float(op["beta"]), 4: float(op["bias"])}
    return op.add("LRN", op.x(), {0: 0, **params})


@emits("softmax")
def softmax(op: NcnnOp) -> str:
    """Softmax along an axis."""
    return op.add("Softmax", op.x(), {0: op.axis(op["axis"]), 1: 1})


@emits("log_softmax")
def log_softmax(op: NcnnOp) -> str:
    """x - max, less the logarithm of the sum of its exponentials, which cannot underflow."""
    x, axes, subtract = op.x(), [op.axis(op["axis"])], {0: 1}
    x = op.add("BinaryOp", [x, _reduced(op, x, "reduce_max", axes)], subtract)
    total = _reduced(op, op.add("UnaryOp", x, {0: 7}), "reduce_sum", axes)
    return op.add("BinaryOp", [x, op.add("UnaryOp", total, {0: 8})], subtract)


@emits(*_REDUCTIONS)
def reduction(op: NcnnOp) -> str:
    """Reduction over some axes."""
    axes = [op.axis(axis) for axis in op["axes"]]
    return _reduced(op, op.x(), op.op.type, axes, op["keep_dims"])


def _reduced(op: NcnnOp, x: str, kind: str, axes: list[int], keep: bool = True) -> str:
    # 5=1: the axes do not count a batch.
    params = {0: _REDUCTIONS[kind], 1: 0, 3: axes, 4: int(keep), 5: 1}
    return op.add("Reduction", x, params)
