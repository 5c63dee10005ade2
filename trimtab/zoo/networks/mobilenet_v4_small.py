"""MobileNet v4 conv small (Qin et al. 2024): 3.8 M parameters, 0.19 GMAC."""

from __future__ import annotations

from trimtab.zoo.blocks import divisible
from trimtab.zoo.builder import RESIDUAL_GAMMA, Net

INPUT_SHAPE = (1, 3, 224, 224)

# Universal inverted bottlenecks (table 11): kernel of the depthwise convolution before the
# expansion and of that behind it (0: none), stride, expansion, output channels.
BLOCKS = [
    (5, 5, 2, 3, 96),
    *[(0, 3, 1, 2, 96)] * 4,
    (3, 0, 1, 4, 96),
    (3, 3, 2, 6, 128),
    (5, 5, 1, 4, 128),
    (0, 5, 1, 4, 128),
    (0, 5, 1, 3, 128),
    *[(0, 3, 1, 4, 128)] * 2,
]


def _bottleneck(
    net: Net, x: str, before: int, behind: int, stride: int, expansion: int, out: int
) -> str:
    channels = net.channels(x)
    hidden = divisible(channels * expansion)
    y = x
    if before:
        at = 1 if behind else stride
        y = net.conv_bn(y, channels, before, at, "linear", groups=channels)
    y = net.conv_bn(y, hidden)
    if behind:
        y = net.conv_bn(y, hidden, behind, stride, groups=hidden)
    y = net.conv_bn(y, out, act="linear", gamma=RESIDUAL_GAMMA)
    return net.add(x, y) if stride == 1 and out == channels else y


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], logits."""
    x = net.conv_bn(x, 32, 3, 2)
    x = net.conv_bn(net.conv_bn(x, 32, 3, 2), 32)
    x = net.conv_bn(net.conv_bn(x, 96, 3, 2), 64)
    for block in BLOCKS:
        x = _bottleneck(net, x, *block)
    x = net.op("GlobalAveragePool", [net.conv_bn(x, 960)])
    x = net.op("Flatten", [net.conv_bn(x, 1280)], axis=1)
    net.output(net.linear(x, 1000), "output")
