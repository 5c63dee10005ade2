"""ResNet-18 (He et al. 2015): 11.7 M parameters, 1.8 GMAC."""

from __future__ import annotations

from trimtab.zoo.builder import RESIDUAL_GAMMA, Net

INPUT_SHAPE = (1, 3, 224, 224)


def _block(net: Net, x: str, out: int, stride: int) -> str:
    y = net.conv_bn(x, out, 3, stride)
    y = net.conv_bn(y, out, 3, act="linear", gamma=RESIDUAL_GAMMA)
    if out != net.channels(x):
        x = net.conv_bn(x, out, 1, stride, "linear", gamma=RESIDUAL_GAMMA)
    return net.act(net.add(y, x), "relu")


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], logits."""
    x = net.max_pool(net.conv_bn(x, 64, 7, 2), 3, 2, 1)
    for out in (64, 128, 256, 512):
        x = _block(net, x, out, 1 if out == 64 else 2)
        x = _block(net, x, out, 1)
    net.output(net.linear(net.global_pool(x), 1000), "output")
