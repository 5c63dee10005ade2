"""GoogLeNet (Szegedy et al. 2014): 7.0 M parameters, 1.6 GMAC.

With batch normalization, without the auxiliary heads.
"""

from __future__ import annotations

from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 224, 224)

# 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool projection (table 1 of the paper).
STAGES = [
    [(64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)],
    [
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
    ],
    [(256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)],
]


def _inception(net: Net, x: str, sizes: tuple[int, int, int, int, int, int]) -> str:
    one, reduce3, three, reduce5, five, projection = sizes
    return net.concat(
        net.conv_bn(x, one),
        net.conv_bn(net.conv_bn(x, reduce3), three, 3),
        net.conv_bn(net.conv_bn(x, reduce5), five, 5),
        net.conv_bn(net.max_pool(x, 3, 1, 1), projection),
    )


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], probabilities."""
    x = net.max_pool(net.conv_bn(x, 64, 7, 2), 3, 2, ceil_mode=True)
    x = net.conv_bn(net.conv_bn(x, 64), 192, 3)
    for stage in STAGES:
        x = net.max_pool(x, 3, 2, ceil_mode=True)
        for sizes in stage:
            x = _inception(net, x, sizes)
    x = net.op("Dropout", [net.global_pool(x)])
    net.output(net.softmax(net.linear(x, 1000)), "output")
