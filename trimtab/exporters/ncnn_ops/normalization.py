"""Normalizations, softmax and reductions."""

from __future__ import annotations

import math

import numpy as np

from trimtab.exporters.ncnn_ops.graph import NcnnOp, emits, raw


@emits("batch_normalization")
def batch_normalization(op: NcnnOp) -> str:
    """BatchNorm."""
    values = [op.constant(port) for port in ("scale", "mean", "variance", "bias")]
    params = {"channels": values[0].size, "eps": float(op["epsilon"])}
    return op.add("BatchNorm", op.x("x"), params, [raw(v) for v in values])


@emits("instance_normalization")
def instance_normalization(op: NcnnOp) -> str:
    """InstanceNorm with factors and offsets."""
    op.image()
    scale, bias = op.constant("scale"), op.constant("bias")
    params = {"channels": scale.size, "eps": float(op["epsilon"]), "affine": 1}
    return op.add("InstanceNorm", op.x("x"), params, [raw(scale), raw(bias)])


@emits("layer_normalization")
def layer_normalization(op: NcnnOp) -> str:
    """LayerNorm of rows; further dimensions are merged into them."""
    shape, scale, bias = op.shape("x"), op.constant("scale"), op.optional("bias")
    axis, x = op["axis"] % len(shape), op.x("x")
    if axis == 0:
        raise op.refusal("its axis is the batch, which ncnn lacks")
    rows = (1, math.prod(shape[1:axis]), math.prod(shape[axis:]))
    params = {"affine_size": scale.size, "eps": float(op["epsilon"]), "affine": 1}
    weights = [raw(scale), raw(np.zeros_like(scale) if bias is None else bias)]
    if rows == shape:
        return op.add("LayerNorm", x, params, weights)
    y = op.add("LayerNorm", op.reshape(x, rows), params, weights)
    return op.reshape(y, shape)


@emits("lrn")
def lrn(op: NcnnOp) -> str:
    """LRN across channels."""
    op.image()
    params = {"region_type": "across", "local_size": op["size"]}
    params |= {name: float(op[name]) for name in ("alpha", "beta", "bias")}
    return op.add("LRN", op.x(), params)


@emits("softmax")
def softmax(op: NcnnOp) -> str:
    """Softmax along an axis."""
    return op.add("Softmax", op.x(), {"axis": op.axis(op["axis"]), "fixbug0": 1})


@emits("log_softmax")
def log_softmax(op: NcnnOp) -> str:
    """x - max, less the logarithm of the sum of its exponentials, which cannot underflow."""
    x, axes = op.x(), [op.axis(op["axis"])]
    x = op.binary("sub", x, _reduced(op, x, "reduce_max", axes))
    total = _reduced(op, op.add("UnaryOp", x, {"op_type": "exp"}), "reduce_sum", axes)
    return op.binary("sub", x, op.add("UnaryOp", total, {"op_type": "log"}))


@emits("reduce_sum", "reduce_mean", "reduce_max", "reduce_min")
def reduction(op: NcnnOp) -> str:
    """Reduction over some axes."""
    axes = [op.axis(axis) for axis in op["axes"]]
    return _reduced(op, op.x(), op.op.type, axes, op["keep_dims"])


def _reduced(op: NcnnOp, x: str, kind: str, axes: list[int], keep: bool = True) -> str:
    params = {"operation": kind.removeprefix("reduce_"), "reduce_all": 0, "axes": axes}
    # fixbug0: the axes do not count a batch.
    return op.add("Reduction", x, {**params, "keepdims": int(keep), "fixbug0": 1})
