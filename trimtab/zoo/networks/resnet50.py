"""ResNet-50 (He et al. 2015; stride in the 3x3 as in v1.5): 25.6 M parameters, 4.1 GMAC."""

from __future__ import annotations

from trimtab.zoo.builder import RESIDUAL_GAMMA, Net

INPUT_SHAPE = (1, 3, 224, 224)


def _bottleneck(net: Net, x: str, middle: int, stride: int) -> str:
    y = net.conv_bn(net.conv_bn(x, middle), middle, 3, stride)
    y = net.conv_bn(y, 4 * middle, act="linear", gamma=RESIDUAL_GAMMA)
    if 4 * middle != net.channels(x):
        x = net.conv_bn(x, 4 * middle, 1, stride, "linear", gamma=RESIDUAL_GAMMA)
    return net.act(net.add(y, x), "relu")


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], logits."""
    x = net.max_pool(net.conv_bn(x, 64, 7, 2), 3, 2, 1)
    for middle, repeats in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(repeats):
            x = _bottleneck(net, x, middle, 2 if middle > 64 and i == 0 else 1)
    net.output(net.linear(net.global_pool(x), 1000), "output")
