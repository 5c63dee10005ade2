"""Pooling and resizing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trimtab.exporters._layers import Array
from trimtab.exporters.caffe_ops.graph import CaffeOp, emits, pair, word
from trimtab.exporters.caffe_ops.movement import padded
from trimtab.importers.caffe_ops.spec import KERNEL, PAD, POOLS, STRIDE


@emits("max_pool", "average_pool")
def pool(op: CaffeOp) -> str:
    """Pooling; the sum of a mean's window is divided again where Caffe counts other pixels."""
    x, size, pads = op.x(), list(op.image()[2:]), list(op["pads"])
    kernel, strides, average = op["kernel_shape"], op["strides"], op.op.type == "average_pool"
    if not average and math.isfinite(value := op["pad_value"]) and any(pads):
        x = padded(op, x, pads, value)
        size = [n + pads[i] + pads[2 + i] for i, n in enumerate(size)]
        pads = [0, 0, 0, 0]
    if tuple(op["dilations"]) != (1, 1):
        raise op.refusal(f"its dilations are {op['dilations']}")
    counted, ceil = average and op["count_include_pad"], op["ceil_mode"]
    results = op.result.shape[2:]
    windows = list(zip(size, kernel, strides, pads[:2], results, strict=True))
    rounding = [mode for mode in (True, False) if all(_count(mode, *w) == w[4] for w in windows)]
    if not rounding:
        raise op.refusal(f"its pads are {pads}, its result has {list(results)} pixels")
    params: dict[str, Any] = {"pool": word(POOLS, "average" if average else "max")}
    params |= pair(KERNEL, kernel) | pair(STRIDE, strides)
    params |= pair(PAD, pads[:2]) | ({} if rounding[0] else {"ceil_mode": False})
    y = op.add("Pooling", x, params)
    if not average:
        return y
    rows, columns = (
        _ratios(*w, end if ceil or counted else 0, counted)
        for w, end in zip(windows, pads[2:], strict=True)
    )
    ratios = np.outer(rows, columns)
    return y if np.all(ratios == 1) else op.scale(y, ratios, 2)


def _count(ceil: bool, size: int, kernel: int, stride: int, pad: int, _: int) -> int:
    """The windows of Caffe along an axis."""
    room = size + 2 * pad - kernel
    count = (-(-room // stride) if ceil else room // stride) + 1
    return count - int(pad > 0 and (count - 1) * stride >= size + pad)


def _ratios(
    size: int, kernel: int, stride: int, pad: int, count: int, pad_end: int, counted: bool
) -> Array:
    """The pixels that Caffe counts, relative to those that the mean counts, of each window."""
    starts = np.arange(count) * stride - pad
    caffe = np.minimum(starts + kernel, size + pad) - starts
    own = np.minimum(starts + kernel, size) - np.maximum(starts, 0)
    if counted:
        own = np.minimum(starts + kernel, size + pad_end) - starts
    return np.asarray(caffe / own, np.float32)


@emits("global_max_pool", "global_average_pool")
def global_pool(op: CaffeOp) -> str:
    """Pooling over the image."""
    op.image()
    return whole(op, op.op.type.removeprefix("global_").removesuffix("_pool"))


def whole(op: CaffeOp, kind: str) -> str:
    """Adds Pooling over the image."""
    params = {"pool": word(POOLS, kind), "global_pooling": True}
    return op.add("Pooling", op.x(), params)


@emits("resize")
def resize(op: CaffeOp) -> str:
    """Interp with aligned corners, or a Deconvolution that repeats pixels."""
    _, channels, *size = op.image()
    mode, coordinates, sizes = op["mode"], op["coordinate_mode"], list(op["sizes"])
    if mode == "linear" and coordinates == "align_corners" and not op["scales"]:
        op["nearest_mode"]  # without effect in linear mode
        return op.add("Interp", op.x(), {"height": sizes[0], "width": sizes[1]})
    factors = [new // old for new, old in zip(sizes, size, strict=True)]
    repeats = [old * factor for old, factor in zip(size, factors, strict=True)] == sizes
    is_nearest = mode == "nearest" and coordinates == "asymmetric"
    if not (is_nearest and op["nearest_mode"] == "floor" and repeats):
        raise op.refusal(f"its mode is {mode} ({coordinates}) from {size} to {sizes}")
    if any(scale != factor for scale, factor in zip(op["scales"], factors, strict=False)):
        raise op.refusal(f"its scales are {list(op['scales'])}")
    params: dict[str, Any] = {"num_output": channels, "bias_term": False, "group": channels}
    params |= pair(KERNEL, factors) | pair(STRIDE, factors)
    ones = np.ones((channels, 1, *factors), np.float32)
    return op.add("Deconvolution", op.x(), params, [ones])
