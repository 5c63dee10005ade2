"""Normalizations, softmax and reductions."""

from __future__ import annotations

import numpy as np

from trimtab.exporters.caffe_ops.convolution import mixed
from trimtab.exporters.caffe_ops.graph import CaffeOp, emits, word
from trimtab.exporters.caffe_ops.pooling import whole
from trimtab.importers.caffe_ops.spec import REDUCTIONS


@emits("batch_normalization")
def batch_normalization(op: CaffeOp) -> str:
    """BatchNorm, then the learned Scale."""
    scale, bias = op.constant("scale"), op.constant("bias")
    one = np.ones(1, np.float32)  # the number of batches that the statistics are sums of
    statistics = [op.constant("mean"), op.constant("variance"), one]
    params = {"use_global_stats": True, "eps": float(op["epsilon"])}
    y = op.add("BatchNorm", op.x("x"), params, statistics)
    return op.scale(y, scale, 1, bias)


@emits("lrn")
def lrn(op: CaffeOp) -> str:
    """LRN across channels."""
    op.image()
    size, bias, beta = op["size"], float(op["bias"]), float(op["beta"])
    if size % 2 == 0 or bias <= 0:
        raise op.refusal(f"its size is {size}, its bias {bias}")
    # Some readers take the offset k to be 1, so it is a factor of the result.
    params = {"local_size": size, "alpha": float(op["alpha"]) / bias, "beta": beta}
    return op.power(op.add("LRN", op.x(), params), scale=bias**-beta)


@emits("softmax")
def softmax(op: CaffeOp) -> str:
    """Softmax along an axis."""
    axis = op.axis(op["axis"])
    return op.add("Softmax", op.x(), {"axis": axis} if axis != 1 else None)


@emits("reduce_sum", "reduce_mean", "reduce_max")
def reduction(op: CaffeOp) -> str:
    """Pooling of images, a Convolution that adds channels, or Reduction of the last axes."""
    shape, kind = op.shape(), op.op.type.removeprefix("reduce_")
    axes = sorted(op.axis(axis) for axis in op["axes"])
    op["keep_dims"]
    if axes == [2, 3] and len(shape) == 4 and kind != "sum":
        y = whole(op, "average" if kind == "mean" else "max")
        shape = (*shape[:2], 1, 1)
    elif axes == [1] and len(shape) == 4 and kind != "max":
        share = 1.0 if kind == "sum" else 1 / shape[1]
        y = mixed(op, op.x(), np.full((1, shape[1]), share, np.float32))
        shape = (shape[0], 1, *shape[2:])
    elif axes == list(range(axes[0], len(shape))) and axes[0] > 0 and kind != "max":
        params = {"operation": word(REDUCTIONS, kind), "axis": axes[0]}
        y = op.add("Reduction", op.x(), params)
        shape = shape[: axes[0]]
    else:
        raise op.refusal(f"its axes are {axes} of {len(shape)} dimensions")
    return y if shape == op.result.shape else op.reshape(y, op.result.shape, shape)
