"""Convolutions and transposed convolutions."""

from __future__ import annotations

from trimtab.importers._layers import Value
from trimtab.importers.paddle_ops.activation import activate
from trimtab.importers.paddle_ops.node import Node, Results, handles
from trimtab.importers.paddle_ops.window import (
    channels_first,
    is_same,
    padding,
    pair,
    restored,
)


@handles("conv2d", "depthwise_conv2d", "conv2d_fusion", "fused_conv2d")
def convolution(node: Node) -> Results:
    """x: [n, c, h, w], weights [m, c / groups, kh, kw]; what follows may be fused already."""
    x = channels_first(node, "Input")
    channels, groups = x.shape[1], node.integer("groups", 1)
    if groups < 1 or channels % groups:
        raise node.invalid(f"{groups} groups do not divide {channels} channels")
    weight = node.weights("Filter", (-1, channels // groups, -1, -1))
    kernel, strides = (weight.shape[2], weight.shape[3]), pair(node, "strides", 1)
    y = node.add(
        "conv",
        x,
        node.constant_of(weight, "Filter"),
        *_bias(node, weight.shape[0]),
        strides=strides,
        pads=padding(node, x.shape[2:], kernel, strides),
        dilations=(1, 1) if is_same(node) else pair(node, "dilations", 1),
        group=groups,
    )
    y = restored(node, y)
    if node.has("ResidualData"):
        y = node.add("add", y, node.x("ResidualData"))
    if node.boolean("fuse_relu", False):
        return activate(node, y, "relu")
    return activate(node, y, node.text("fuse_activation", node.text("activation", "")))


@handles("conv2d_transpose", "depthwise_conv2d_transpose")
def transposed_convolution(node: Node) -> Results:
    """x: [n, c, h, w], weights [c, m / groups, kh, kw]; a size may be asked for."""
    x = channels_first(node, "Input")
    channels, groups = x.shape[1], node.integer("groups", 1)
    if groups < 1 or channels % groups:
        raise node.invalid(f"{groups} groups do not divide {channels} channels")
    weight = node.weights("Filter", (channels, -1, -1, -1))
    kernel, strides = (weight.shape[2], weight.shape[3]), pair(node, "strides", 1)
    dilations = (1, 1) if is_same(node) else pair(node, "dilations", 1)
    pads = padding(node, x.shape[2:], kernel, strides)
    extra = node.integers("output_padding") or (0, 0)
    wanted = node.int_list("output_size", "OutputSize", "OutputSizeTensor")
    if wanted:
        least = [
            (x.shape[2 + i] - 1) * strides[i]
            + (kernel[i] - 1) * dilations[i]
            + 1
            - pads[i]
            - pads[2 + i]
            for i in range(2)
        ]
        extra = (wanted[0] - least[0], wanted[-1] - least[1])
    y = node.add(
        "conv_transpose",
        x,
        node.constant_of(weight, "Filter"),
        *_bias(node, weight.shape[1] * groups),
        strides=strides,
        pads=pads,
        dilations=dilations,
        output_padding=(extra[0], extra[-1]),
        group=groups,
    )
    y = restored(node, y)
    return activate(node, y, "relu" if node.boolean("fuse_relu", False) else "")


def _bias(node: Node, outputs: int) -> list[Value]:
    return [node.constant_of(node.weights("Bias", (outputs,)), "Bias")] if node.has("Bias") else []
