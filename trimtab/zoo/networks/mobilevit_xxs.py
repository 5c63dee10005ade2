"""MobileViT-XXS (Mehta and Rastegari 2022): 1.27 M parameters, 0.33 GMAC, and 0.08 of attention."""

from __future__ import annotations

from trimtab.zoo.blocks import inverted_residual, transformer
from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 256, 256)
_EXPANSION, _HEADS, _PATCH = 2, 4, 2

# For each stage: the output channels of the inverted residual with stride 2, and the width and
# number of the transformers that follow it (table 4 of the paper).
STAGES = ((48, 64, 2), (64, 80, 4), (80, 96, 3))


def _residual(net: Net, x: str, out: int, stride: int = 1) -> str:
    hidden = _EXPANSION * net.channels(x)
    return inverted_residual(net, x, out, hidden, stride=stride, act="silu")


def _mixed(net: Net, x: str, width: int, repeats: int) -> str:
    """Transformers over the pixels at the same place of all patches, between convolutions."""
    channels, size = net.channels(x), net.size(x)
    y = net.conv(net.conv_bn(x, channels, 3, act="silu"), width, bias=False)
    rows, places = size // _PATCH, _PATCH**2
    y = net.reshape(y, (width * rows, _PATCH, rows, _PATCH))
    y = net.reshape(net.op("Transpose", [y], perm=[0, 2, 1, 3]), (1, width, rows**2, places))
    shape = (places, rows**2)
    y = net.reshape(net.op("Transpose", [y], perm=[0, 3, 2, 1]), (*shape, width), width)
    for _ in range(repeats):
        y = transformer(net, y, shape, _HEADS, 2 * width, "silu")
    y = net.reshape(net.layer_norm(y), (1, *shape, width))
    y = net.reshape(net.op("Transpose", [y], perm=[0, 3, 2, 1]), (width * rows, rows, 2, 2))
    y = net.op("Transpose", [y], perm=[0, 2, 1, 3])
    y = net.conv_bn(net.reshape(y, (1, width, size, size), width), channels, act="silu")
    return net.conv_bn(net.concat(x, y), channels, 3, act="silu")


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 256, 256] -> output: float32[1, 1000], logits."""
    x = _residual(net, net.conv_bn(x, 16, 3, 2, "silu"), 16)
    x = _residual(net, x, 24, 2)
    for _ in "12":
        x = _residual(net, x, 24)
    for out, width, repeats in STAGES:
        x = _mixed(net, _residual(net, x, out, 2), width, repeats)
    x = net.conv_bn(x, 320, act="silu")
    net.output(net.linear(net.global_pool(x), 1000), "output")
