"""Yolo-Fastest 1.1 (dog-qiuqiu, 2020): 0.33 M parameters, 0.13 GMAC.

Box decoding is left to the caller.
"""

from __future__ import annotations

from trimtab.zoo.blocks import inverted_residual
from trimtab.zoo.builder import RESIDUAL_GAMMA, Net

INPUT_SHAPE = (1, 3, 320, 320)
HEAD_CHANNELS = 3 * (80 + 5)  # anchors x (classes + box and objectness)

# Output channels, hidden channels, stride, repeats.
STAGES = [
    (4, 8, 1, 2),
    (8, 24, 2, 1),
    (8, 32, 1, 2),
    (8, 32, 2, 1),
    (8, 48, 1, 2),
    (16, 48, 1, 1),
    (16, 96, 1, 4),
    (24, 96, 2, 1),
    (24, 136, 1, 4),
    (48, 136, 2, 1),
    (48, 224, 1, 5),
]


def _head(net: Net, x: str, out: int, name: str) -> None:
    for _ in range(2):
        x = net.conv_bn(x, out, 5, act="leaky", groups=out)
        x = net.conv_bn(x, out, act="linear", gamma=RESIDUAL_GAMMA)
    net.output(net.conv(x, HEAD_CHANNELS), name)


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 320, 320] -> out10, out20: float32[1, 255, s, s] with s 10, 20."""
    x = net.conv_bn(x, 8, 3, 2, "leaky")
    x = net.conv_bn(x, 8, act="leaky")
    for out, hidden, stride, repeats in STAGES:
        for _ in range(repeats):
            x = inverted_residual(net, x, out, hidden, stride=stride, act="leaky")
        if out == 24:
            fine = x
    pools = [net.max_pool(x, size, 1, size // 2) for size in (9, 5, 3)]
    coarse = net.conv_bn(net.concat(*pools, x), 96, act="leaky")
    _head(net, coarse, 96, "out10")
    _head(net, net.concat(net.upsample(coarse, 2), fine), 120, "out20")
