"""YOLOv3-tiny (Redmon and Farhadi 2018): 8.9 M parameters, 2.8 GMAC.

Box decoding is left to the caller.
"""

from __future__ import annotations

import numpy as np

from trimtab.zoo.builder import Net

INPUT_SHAPE = (1, 3, 416, 416)
HEAD_CHANNELS = 3 * (80 + 5)  # anchors x (classes + box and objectness)


def _conv(net: Net, x: str, out: int, kernel: int) -> str:
    return net.conv_bn(x, out, kernel, act="leaky")


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 416, 416] -> out13, out26: float32[1, 255, s, s] with s 13, 26."""
    x = _conv(net, x, 16, 3)
    for out in (32, 64, 128, 256):
        x = _conv(net, net.max_pool(x, 2, 2), out, 3)
    fine = x
    x = _conv(net, net.max_pool(x, 2, 2), 512, 3)
    # Darknet pads one row below and one column at the right, so that the pooling keeps 13 x 13.
    pads = net.constant("pads", np.array([0, 0, 0, 0, 0, 0, 1, 1], np.int64))
    x = net.max_pool(net.op("Pad", [x, pads], mode="constant"), 2, 1)
    coarse = _conv(net, _conv(net, x, 1024, 3), 256, 1)
    net.output(net.conv(_conv(net, coarse, 512, 3), HEAD_CHANNELS), "out13")
    x = net.concat(net.upsample(_conv(net, coarse, 128, 1), 2), fine)
    net.output(net.conv(_conv(net, x, 256, 3), HEAD_CHANNELS), "out26")
