"""MobileNet v2 (Sandler et al. 2018): 3.5 M parameters, 0.30 GMAC."""

from __future__ import annotations

from trimtab.zoo.blocks import inverted_residual
from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 224, 224)

# Expansion, output channels, repeats, stride (table 2 of the paper).
STAGES = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], logits."""
    x = net.conv_bn(x, 32, 3, 2, "relu6")
    for expansion, out, repeats, stride in STAGES:
        for i in range(repeats):
            x = inverted_residual(
                net, x, out, net.channels(x) * expansion, stride=1 if i else stride
            )
    x = net.conv_bn(x, 1280, act="relu6")
    net.output(net.linear(net.global_mean(x), 1000), "output")
