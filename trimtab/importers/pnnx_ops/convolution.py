"""Convolutions, as modules and as functions; signals are images of one row."""

from __future__ import annotations

import numpy as np

from trimtab.importers._layers import Array, Value
from trimtab.importers.pnnx_ops.operator import Operator, handles

Pair = tuple[int, int]

_BORDERS = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def image(op: Operator, x: Value, spatial: int) -> Value:
    """x: [n, c, h, w]; what lacks the batch, or the height of a signal, gets a 1 there."""
    rank = len(x.shape)
    if rank not in (spatial + 1, spatial + 2):
        raise op.unsupported(f"its input has {rank} dimensions")
    shape = x.shape if rank == spatial + 2 else (1, *x.shape)
    return op.reshape(x, shape if spatial == 2 else (*shape[:2], 1, shape[2]))


def restore(op: Operator, y: Value, spatial: int, like: Value) -> Value:
    """Undoes `image`, by what it was given."""
    shape = y.shape if spatial == 2 else (*y.shape[:2], y.shape[3])
    return op.reshape(y, shape if len(like.shape) == spatial + 2 else shape[1:])


def plane(values: tuple[int, ...], fill: int) -> Pair:
    """Vertical and horizontal value; a signal has the horizontal one only."""
    return (fill, values[0]) if len(values) == 1 else (values[0], values[1])


def _weights(op: Operator, spatial: int) -> tuple[Array, list[Value]]:
    """Weights with two dimensions behind the channels, and the operands they make."""
    weight = op.constant_operand("weight", 1)
    if weight is None or weight.ndim != spatial + 2:
        raise op.invalid("it lacks its weights")
    weight = weight if spatial == 2 else weight[:, :, np.newaxis]
    operands = [op.constant(weight, "weight")]
    bias = op.constant_operand("bias", 2)
    if bias is not None:
        operands.append(op.constant(bias, "bias"))
    return weight, operands


@handles("nn.Conv1d", "nn.Conv2d", "F.conv1d", "F.conv2d")
def convolution(op: Operator) -> Value:
    """x: [n, c, h, w]; padding is a number, or `same`, whose odd pixel goes to the end."""
    spatial = int(op.type[-2])
    given = op.x(0, "input")
    x = image(op, given, spatial)
    weight, operands = _weights(op, spatial)
    strides = plane(op.integers("stride", spatial, 1), 1)
    dilations = plane(op.integers("dilation", spatial, 1), 1)
    padding = op.static("padding", 0)
    if padding == "same":
        total = [(k - 1) * d for k, d in zip(weight.shape[2:], dilations, strict=True)]
        begin, end = [t // 2 for t in total], [t - t // 2 for t in total]
    else:
        sizes = (0,) * spatial if padding == "valid" else op.integers("padding", spatial, 0)
        begin = end = list(plane(sizes, 0))
    mode = op.text("padding_mode", "zeros")
    if mode not in _BORDERS:
        raise op.unsupported(f"its padding_mode is {mode}")
    if mode != "zeros" and any((*begin, *end)):
        x = op.add("pad", x, pads=(0, 0, *begin, 0, 0, *end), mode=_BORDERS[mode])
        begin = end = [0, 0]
    op.static("kernel_size")
    y = op.add(
        "conv",
        x,
        *operands,
        strides=strides,
        pads=(*begin, *end),
        dilations=dilations,
        group=op.integer("groups", 1),
    )
    return restore(op, y, spatial, given)


@handles("nn.ConvTranspose1d", "nn.ConvTranspose2d", "F.conv_transpose1d", "F.conv_transpose2d")
def transposed(op: Operator) -> Value:
    """Padding is cut off the result."""
    spatial = int(op.type[-2])
    given = op.x(0, "input")
    _, operands = _weights(op, spatial)
    pads = plane(op.integers("padding", spatial, 0), 0)
    if op.text("padding_mode", "zeros") != "zeros" or op.has("output_size"):
        raise op.unsupported("it has a padding_mode or an output_size")
    op.static("kernel_size")
    y = op.add(
        "conv_transpose",
        image(op, given, spatial),
        *operands,
        strides=plane(op.integers("stride", spatial, 1), 1),
        pads=(*pads, *pads),
        dilations=plane(op.integers("dilation", spatial, 1), 1),
        output_padding=plane(op.integers("output_padding", spatial, 0), 0),
        group=op.integer("groups", 1),
    )
    return restore(op, y, spatial, given)
