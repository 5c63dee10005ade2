"""Conv, ConvTranspose."""

from __future__ import annotations

import numpy as np

from trimtab.errors import ImportModelError
from trimtab.importers.onnx_ops import volume
from trimtab.importers.onnx_ops.node import Array, Node, Value, Values, handles
from trimtab.importers.onnx_ops.window import Window, image, plane, restore


def _weights(node: Node) -> tuple[Array, Array | None]:
    """Constant weights [m, c, (kd,) kh, kw] (a 1-D kernel gets a height of 1) and bias [m]."""
    weight = node.constant(1, "weights")
    if weight.ndim not in (3, 4, 5) or weight.ndim != len(node.x(0).shape):
        raise node.unsupported(f"it is {weight.ndim - 2}-dimensional")
    declared = node.integers("kernel_shape", weight.shape[2:])
    if declared != weight.shape[2:]:
        raise ImportModelError(
            f"kernel_shape {declared} is not the shape of the weights {weight.shape}",
            where=node.where,
        )
    if weight.ndim == 3:
        weight = weight[:, :, np.newaxis]
    return weight, node.constant(2, "bias") if node.has(2) else None


def _operands(node: Node, weight: Array, bias: Array | None) -> list[Value]:
    constants = [node.new_constant(weight, "weight")]
    if bias is not None:
        constants.append(node.new_constant(bias, "bias"))
    return constants


@handles("Conv")
def conv(node: Node) -> Values:
    """x: [n, c, (d,) (h,) w], w: [m, c / group, (kd,) (kh,) kw], b: [m], weights constant."""
    weight, bias = _weights(node)
    if weight.ndim == 5:
        return volume.conv(node, weight, bias)
    x = image(node, node.x(0))
    window = Window.of(node, weight.shape[2:])
    y = node.add(
        "conv",
        x,
        *_operands(node, weight, bias),
        strides=window.strides,
        pads=window.pads(node, plane(x)),
        dilations=window.dilations,
        group=node.integer("group", 1),
    )
    return restore(node, y)


@handles("ConvTranspose")
def conv_transpose(node: Node) -> Values:
    """x: [n, c, (h,) w], w: [c, m / group, (kh,) kw], b: [m], weights constant."""
    weight, bias = _weights(node)
    if weight.ndim == 5:
        raise node.unsupported("it is 3-dimensional")
    x = image(node, node.x(0))
    window = Window.of(node, weight.shape[2:])
    pads, output_padding = window.transposed_pads(node, plane(x))
    y = node.add(
        "conv_transpose",
        x,
        *_operands(node, weight, bias),
        strides=window.strides,
        pads=pads,
        dilations=window.dilations,
        output_padding=output_padding,
        group=node.integer("group", 1),
    )
    return restore(node, y)
