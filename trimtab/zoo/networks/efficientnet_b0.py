"""EfficientNet B0 (Tan and Le 2019): 5.3 M parameters, 0.39 GMAC."""

from __future__ import annotations

from trimtab.zoo.blocks import inverted_residual
from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 224, 224)

# Expansion, output channels, repeats, stride, kernel (table 1 of the paper).
STAGES = [
    (1, 16, 1, 1, 3),
    (6, 24, 2, 2, 3),
    (6, 40, 2, 2, 5),
    (6, 80, 3, 2, 3),
    (6, 112, 3, 1, 5),
    (6, 192, 4, 2, 5),
    (6, 320, 1, 1, 3),
]


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], logits."""
    x = net.conv_bn(x, 32, 3, 2, "silu")
    for expansion, out, repeats, stride, kernel in STAGES:
        for i in range(repeats):
            channels = net.channels(x)
            x = inverted_residual(
                net,
                x,
                out,
                channels * expansion,
                kernel=kernel,
                stride=1 if i else stride,
                act="silu",
                squeezed=channels // 4,
                se_act="silu",
            )
    x = net.conv_bn(x, 1280, act="silu")
    net.output(net.linear(net.global_pool(x), 1000), "output")
