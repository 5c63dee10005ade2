"""Convolution and transposed convolution."""

from __future__ import annotations

from trimtab.importers._graph import Array, Value
from trimtab.importers.paddle_ops.activation import activate
from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles
from trimtab.importers.paddle_ops.window import channels_first, pair, restored, window
from trimtab.importers.vocabulary.convolution import check_groups, convolve, deconvolve
from trimtab.importers.vocabulary.window import Window


@handles("conv2d", "depthwise_conv2d", "conv2d_fusion", "fused_conv2d")
def convolution(node: PaddleNode) -> Results:
    """x: [n, c, h, w], weights [m, c / groups, kh, kw], with fused residual and activation."""
    x = channels_first(node, "Input")
    channels, groups = x.shape[1], node.integer("groups", 1)
    check_groups(node, groups, channels, node.weights("Filter", (-1, -1, -1, -1)).shape[0])
    weight = node.weights("Filter", (-1, channels // groups, -1, -1))
    bias, taps = _bias(node, weight.shape[0]), _window(node, x, weight)
    y = convolve(node, x, node.constant_of(weight, "Filter"), bias, taps, groups)
    y = restored(node, y)
    if node.has("ResidualData"):
        y = node.add("add", y, node.x("ResidualData"))
    if node.boolean("fuse_relu", False):
        return activate(node, y, "relu")
    return activate(node, y, node.text("fuse_activation", node.text("activation", "")))


@handles("conv2d_transpose", "depthwise_conv2d_transpose")
def transposed_convolution(node: PaddleNode) -> Results:
    """x: [n, c, h, w], weights [c, m / groups, kh, kw]; an output size may be specified."""
    x = channels_first(node, "Input")
    groups = node.integer("groups", 1)
    weight = node.weights("Filter", (x.shape[1], -1, -1, -1))
    check_groups(node, groups, x.shape[1], weight.shape[1] * groups)
    taps = _window(node, x, weight)
    extra = node.integers("output_padding") or (0, 0)
    output = node.int_list("output_size", "OutputSize", "OutputSizeTensor")
    if output:
        full, pads = taps.full_size(x.shape[2:]), taps.pads
        cropped = [full[i] - pads[i] - pads[2 + i] for i in range(2)]
        extra = (output[0] - cropped[0], output[-1] - cropped[1])
    bias, filters = _bias(node, weight.shape[1] * groups), node.constant_of(weight, "Filter")
    y = deconvolve(node, x, filters, bias, taps, groups, (extra[0], extra[-1]))
    y = restored(node, y)
    return activate(node, y, "relu" if node.boolean("fuse_relu", False) else "")


def _window(node: PaddleNode, x: Value, weight: Array) -> Window:
    kernel = weight.shape[2], weight.shape[3]
    return window(node, x.shape[2:], kernel, pair(node, "dilations", 1))


def _bias(node: PaddleNode, outputs: int) -> Value | None:
    return node.constant_of(node.weights("Bias", (outputs,)), "Bias") if node.has("Bias") else None
