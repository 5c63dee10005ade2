"""ShuffleNet v2 1.0x (Ma et al. 2018): 2.3 M parameters, 0.15 GMAC."""

from __future__ import annotations

from trimtab.zoo.blocks import channel_shuffle
from trimtab.zoo.builder import RESIDUAL_GAMMA, Net

INPUT_SHAPE = (1, 3, 224, 224)


def _branch(net: Net, x: str, out: int, stride: int) -> str:
    x = net.conv_bn(x, out)
    x = net.conv_bn(x, out, 3, stride, "linear", groups=out, gamma=RESIDUAL_GAMMA)
    return net.conv_bn(x, out)


def _unit(net: Net, x: str, out: int) -> str:
    """A unit of the network; the first of a stage halves height and width."""
    if out != net.channels(x):
        left = net.conv_bn(
            x, net.channels(x), 3, 2, "linear", groups=net.channels(x), gamma=RESIDUAL_GAMMA
        )
        left, right = net.conv_bn(left, out // 2), _branch(net, x, out // 2, 2)
    else:
        left, right = net.halves(x)
        right = _branch(net, right, out // 2, 1)
    return channel_shuffle(net, net.concat(left, right))


def levels(net: Net, x: str) -> list[str]:
    """The maps of the three stages, at strides 8, 16 and 32."""
    maps = []
    x = net.max_pool(net.conv_bn(x, 24, 3, 2), 3, 2, 1)
    for out, repeats in ((116, 4), (232, 8), (464, 4)):
        for _ in range(repeats):
            x = _unit(net, x, out)
        maps.append(x)
    return maps


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], logits."""
    *_, x = levels(net, x)
    x = net.conv_bn(x, 1024)
    net.output(net.linear(net.global_mean(x), 1000), "output")
