"""A detector like NanoDet-m (RangiLyu, 2020): 0.95 M parameters, 0.36 GMAC.

ShuffleNet v2 without its last layers, levels that are joined by bilinear resizing, and one light
head per level. The head `nanodet` reads the outputs.
"""

from __future__ import annotations

import numpy as np

from trimtab.zoo.builder import Net
from trimtab.zoo.networks import shufflenet_v2

INPUT_SHAPE = (1, 3, 320, 320)
_CHANNELS = 96
_OUTPUTS = 80 + 4 * 8  # classes, and bins of the sides


def _resized(net: Net, x: str, scale: float, channels: int) -> str:
    name = f"{x}.scales.{channels}.{scale:g}"
    scales = net.constant(name, np.array([1, 1, scale, scale], np.float32))
    return net.op(
        "Resize",
        [x, "", scales],
        mode="linear",
        coordinate_transformation_mode="half_pixel",
    )


def _head(net: Net, x: str) -> str:
    for _ in "12":
        x = net.conv_bn(x, _CHANNELS, 3, act="leaky", groups=_CHANNELS)
        x = net.conv_bn(x, _CHANNELS, act="leaky")
    return net.conv(x, _OUTPUTS)


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 320, 320] -> out40, out20, out10: float32[1, 112, s, s] with s 40, 20,
    10: 80 classes and 8 bins for each side of a box.
    """
    levels = [net.conv(level, _CHANNELS) for level in shufflenet_v2.levels(net, x)]
    fine, middle, coarse = levels
    middle = net.add(middle, _resized(net, coarse, 2, 0))
    fine = net.add(fine, _resized(net, middle, 2, 1))
    middle = net.add(middle, _resized(net, fine, 0.5, 2))
    coarse = net.add(coarse, _resized(net, middle, 0.5, 3))
    for level, size in ((fine, 40), (middle, 20), (coarse, 10)):
        net.output(_head(net, level), f"out{size}")
