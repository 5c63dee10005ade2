"""A detector like YOLO26n (Ultralytics, 2026), with its head for deployment: 2.4 M parameters.

SiLU, attention at two places, boxes as four distances; it needs no suppression. Choosing the best
boxes is left to the caller.
"""

from __future__ import annotations

from trimtab.zoo.builder import Net
from trimtab.zoo.detector_blocks import c2psa, c3k2, conv, head, spatial_pyramid

INPUT_SHAPE = (1, 3, 640, 640)
SIDES = 4  # distances to the sides


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 640, 640] -> boxes3 to boxes5: float32[1, 4, s, s], and classes3 to
    classes5: float32[1, 80, s, s], with s 80, 40, 20.
    """
    x = conv(net, conv(net, x, 16, 3, 2), 32, 3, 2)
    x = conv(net, c3k2(net, x, 64, expansion=0.25), 64, 3, 2)
    fine = c3k2(net, x, 128, expansion=0.25)
    middle = c3k2(net, conv(net, fine, 128, 3, 2), 128, "c3k")
    x = c3k2(net, conv(net, middle, 256, 3, 2), 256, "c3k")
    coarse = c2psa(net, spatial_pyramid(net, x, shortcut=True))
    middle = c3k2(net, net.concat(net.upsample(coarse, 2), middle), 128, "c3k")
    fine = c3k2(net, net.concat(net.upsample(middle, 2), fine), 64, "c3k")
    middle = c3k2(net, net.concat(conv(net, fine, 64, 3, 2), middle), 128, "c3k")
    x = net.concat(conv(net, middle, 128, 3, 2), coarse)
    coarse = c3k2(net, x, 256, "attention")
    head(net, (fine, middle, coarse), 16, SIDES)
