"""SqueezeNet 1.1 (Iandola et al. 2016): 1.24 M parameters, 0.35 GMAC."""

from __future__ import annotations

from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 224, 224)


def _fire(net: Net, x: str, squeeze: int, expand: int) -> str:
    x = net.act(net.conv(x, squeeze), "relu")
    left = net.act(net.conv(x, expand), "relu")
    right = net.act(net.conv(x, expand, 3), "relu")
    return net.concat(left, right)


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], probabilities."""
    x = net.act(net.conv(x, 64, 3, 2, pad=0), "relu")
    for stage in ([(16, 64)] * 2, [(32, 128)] * 2, [(48, 192)] * 2 + [(64, 256)] * 2):
        x = net.max_pool(x, 3, 2, ceil_mode=True)
        for squeeze, expand in stage:
            x = _fire(net, x, squeeze, expand)
    x = net.op("Dropout", [x])
    x = net.act(net.conv(x, 1000), "relu")
    net.output(net.softmax(net.global_pool(x)), "output")
