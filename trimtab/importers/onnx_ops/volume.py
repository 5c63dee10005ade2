"""Conv, MaxPool and AveragePool of volumes [n, c, d, h, w], made of those of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trimtab.importers.onnx_ops.node import Array, Node, Value
from trimtab.importers.onnx_ops.window import distribute


def _each(values: Sequence[int]) -> tuple[int, ...]:
    """One value per dimension of a volume, 1 by default."""
    return tuple(values) or (1, 1, 1)


def _pads(node: Node, x: Value, kernel: Sequence[int]) -> tuple[int, ...]:
    """Pads of depth, height and width at the front, then at the far end."""
    mode = node.text("auto_pad", "NOTSET")
    if mode == "NOTSET":
        return node.integers("pads") or (0,) * 6
    if mode == "VALID":
        return (0,) * 6
    strides, dilations = _each(node.integers("strides")), _each(node.integers("dilations"))
    totals = [
        max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
        for n, k, s, d in zip(x.shape[2:], kernel, strides, dilations, strict=True)
    ]
    return distribute(node, totals, mode)


def pool(node: Node, op: str, **attributes: Any) -> Value:
    """Pools images, then depths: maxima and means of equally many values can be nested.

    So can means over the pixels inside the image: all depths have as many of them.
    """
    x, kernel = node.x(0), node.integers("kernel_shape")
    strides, dilations = _each(node.integers("strides")), _each(node.integers("dilations"))
    top = _pads(node, x, kernel)
    n, c, d, h, w = x.shape
    y = node.add(
        op,
        node.reshape(x, (n, c * d, h, w)),
        kernel_shape=kernel[1:],
        strides=strides[1:],
        pads=(*top[1:3], *top[4:6]),
        dilations=dilations[1:],
        **attributes,
    )
    h, w = y.shape[2:]
    y = node.add(
        op,
        node.reshape(y, (n, c, d, h * w)),
        kernel_shape=(kernel[0], 1),
        strides=(strides[0], 1),
        pads=(top[0], 0, top[3], 0),
        dilations=(dilations[0], 1),
        **attributes,
    )
    return node.reshape(y, (n, c, y.shape[2], h, w))


def conv(node: Node, weight: Array, bias: Array | None) -> Value:
    """The slices that a kernel sees at once become channels, and depths become images.

    weight: [m, c / group, kd, kh, kw], bias: [m].
    """
    x, kernel, group = node.x(0), weight.shape[2:], node.integer("group", 1)
    strides, dilations = _each(node.integers("strides")), _each(node.integers("dilations"))
    pads = _pads(node, x, kernel)
    n, c, d, h, w = x.shape
    y = node.reshape(x, (n, c, d, h * w))
    if pads[0] or pads[3]:
        y = node.add("pad", y, pads=(0, 0, pads[0], 0, 0, 0, pads[3], 0))
    depth = (y.shape[2] - (kernel[0] - 1) * dilations[0] - 1) // strides[0] + 1
    if depth < 1:
        raise node.unsupported("its kernel is deeper than its input")
    slices = [
        node.reshape(
            node.add(
                "slice",
                y,
                starts=(begin,),
                ends=(begin + (depth - 1) * strides[0] + 1,),
                axes=(2,),
                steps=(strides[0],),
            ),
            (n, group, c // group, depth * h * w),
        )
        for begin in range(0, kernel[0] * dilations[0], dilations[0])
    ]
    y = slices[0] if len(slices) == 1 else node.add("concat", *slices, axis=2)
    y = node.reshape(y, (n, c * kernel[0], depth, h * w))
    y = node.add("transpose", y, permutation=(0, 2, 1, 3))
    flat = weight.swapaxes(1, 2).reshape(weight.shape[0], -1, *kernel[1:])
    constants = [node.new_constant(np.ascontiguousarray(flat), "weight")]
    if bias is not None:
        constants.append(node.new_constant(bias, "bias"))
    y = node.add(
        "conv",
        node.reshape(y, (n * depth, c * kernel[0], h, w)),
        *constants,
        strides=strides[1:],
        pads=(*pads[1:3], *pads[4:6]),
        dilations=dilations[1:],
        group=group,
    )
    _, m, h, w = y.shape
    y = node.add("transpose", node.reshape(y, (n, depth, m, h * w)), permutation=(0, 2, 1, 3))
    return node.reshape(y, (n, m, depth, h, w))
