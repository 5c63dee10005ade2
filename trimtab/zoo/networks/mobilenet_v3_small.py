"""MobileNet v3 small (Howard et al. 2019): 2.5 M parameters, 0.06 GMAC."""

from __future__ import annotations

from trimtab.zoo.blocks import divisible, inverted_residual
from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 224, 224)

# Kernel, hidden channels, output channels, squeeze-and-excite, activation, stride (table 2).
BLOCKS = [
    (3, 16, 16, True, "relu", 2),
    (3, 72, 24, False, "relu", 2),
    (3, 88, 24, False, "relu", 1),
    (5, 96, 40, True, "hard_swish", 2),
    (5, 240, 40, True, "hard_swish", 1),
    (5, 240, 40, True, "hard_swish", 1),
    (5, 120, 48, True, "hard_swish", 1),
    (5, 144, 48, True, "hard_swish", 1),
    (5, 288, 96, True, "hard_swish", 2),
    (5, 576, 96, True, "hard_swish", 1),
    (5, 576, 96, True, "hard_swish", 1),
]


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], logits."""
    x = net.conv_bn(x, 16, 3, 2, "hard_swish")
    for kernel, hidden, out, excite, act, stride in BLOCKS:
        squeezed = divisible(hidden / 4) if excite else 0
        x = inverted_residual(
            net,
            x,
            out,
            hidden,
            kernel=kernel,
            stride=stride,
            act=act,
            squeezed=squeezed,
            gate="hard_sigmoid",
        )
    x = net.conv_bn(x, 576, act="hard_swish")
    x = net.act(net.linear(net.global_pool(x), 1024), "hard_swish")
    net.output(net.linear(x, 1000), "output")
