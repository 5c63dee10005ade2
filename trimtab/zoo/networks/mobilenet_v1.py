"""MobileNet v1 (Howard et al. 2017): 4.2 M parameters, 0.57 GMAC."""

from __future__ import annotations

from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 224, 224)

# Output channels and stride of each depthwise-separable block (table 1 of the paper).
BLOCKS = [
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *[(512, 1)] * 5,
    (1024, 2),
    (1024, 1),
]


def features(net: Net, x: str, act: str = "relu") -> str:
    """All convolutions: 1024 channels at stride 32."""
    x = net.conv_bn(x, 32, 3, 2, act)
    for out, stride in BLOCKS:
        x = net.conv_bn(x, net.channels(x), 3, stride, act, groups=net.channels(x))
        x = net.conv_bn(x, out, act=act)
    return x


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 224, 224] -> output: float32[1, 1000], probabilities."""
    x = features(net, x)
    net.output(net.softmax(net.linear(net.global_mean(x), 1000)), "output")
