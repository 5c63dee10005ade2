"""Convolution and transposed convolution, as modules and as functions; signals are images."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.pnnx_ops.operator import PnnxOperator, handles
from trimtab.importers.vocabulary.convolution import convolve, deconvolve
from trimtab.importers.vocabulary.movement import PAD_MODES, padded
from trimtab.importers.vocabulary.window import NO_PADS, Pads, Window, as_pair, from_image, to_image


def _weights(op: PnnxOperator, spatial: int) -> tuple[Array, Array | None]:
    """The weights with two spatial axes, and the bias."""
    weight = op.constant_operand("weight", 1)
    if weight is None or weight.ndim != spatial + 2:
        raise op.invalid("it lacks its weights")
    op.static("kernel_size")
    return weight if spatial == 2 else weight[:, :, np.newaxis], op.constant_operand("bias", 2)


def _window(op: PnnxOperator, spatial: int, weight: Array, pads: Pads) -> Window:
    strides = as_pair(op.integers("stride", spatial, 1), 1)
    dilations = as_pair(op.integers("dilation", spatial, 1), 1)
    return Window((weight.shape[2], weight.shape[3]), strides, pads, dilations)


@handles("nn.Conv1d", "nn.Conv2d", "F.conv1d", "F.conv2d")
def convolution(op: PnnxOperator) -> Value:
    """x: [n, c, (h,) w]; padding is a number, `valid`, or `same` with an odd pixel at the end."""
    spatial = int(op.type[-2])
    source = op.x(0, "input")
    x = to_image(op, source, spatial)
    weight, bias = _weights(op, spatial)
    padding = op.static("padding", 0)
    is_word = padding in ("same", "valid")
    sizes = (0,) * spatial if is_word else op.integers("padding", spatial, 0)
    window = _window(op, spatial, weight, as_pair(sizes, 0) * 2)
    if padding == "same":
        window = window.same(x.shape[2:])
    mode = op.text("padding_mode", "zeros")
    if mode not in PAD_MODES:
        raise op.unsupported(f"its padding_mode is {mode}")
    if mode != "zeros":
        x = padded(op, x, {2: window.pads[0::2], 3: window.pads[1::2]}, mode)
        window = window.padded(NO_PADS)
    y = convolve(op, x, weight, bias, window, op.integer("groups", 1))
    return from_image(op, y, spatial, source)


@handles("nn.ConvTranspose1d", "nn.ConvTranspose2d", "F.conv_transpose1d", "F.conv_transpose2d")
def transposed(op: PnnxOperator) -> Value:
    """Transposed convolution; padding crops the result."""
    spatial = int(op.type[-2])
    source = op.x(0, "input")
    weight, bias = _weights(op, spatial)
    pads = as_pair(op.integers("padding", spatial, 0), 0)
    if op.text("padding_mode", "zeros") != "zeros" or op.has("output_size"):
        raise op.unsupported("it has a padding_mode or an output_size")
    window, group = _window(op, spatial, weight, pads * 2), op.integer("groups", 1)
    extra = as_pair(op.integers("output_padding", spatial, 0), 0)
    y = deconvolve(op, to_image(op, source, spatial), weight, bias, window, group, extra)
    return from_image(op, y, spatial, source)
