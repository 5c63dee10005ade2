"""A detector like YOLO11n (Ultralytics, 2024): 2.6 M parameters, 3.2 GMAC.

SiLU, attention at the coarsest level, boxes as distributions of 16 bins per side. Decoding is left
to the caller: the head `yolov8` reads these outputs.
"""

from __future__ import annotations

from trimtab.zoo.builder import Net
from trimtab.zoo.detector_blocks import c2psa, c3k2, conv, head, spatial_pyramid

INPUT_SHAPE = (1, 3, 640, 640)
SIDES = 4 * 16  # bins of each side


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 640, 640] -> boxes3 to boxes5: float32[1, 64, s, s], and classes3 to
    classes5: float32[1, 80, s, s], with s 80, 40, 20.
    """
    x = conv(net, conv(net, x, 16, 3, 2), 32, 3, 2)
    x = conv(net, c3k2(net, x, 64, expansion=0.25), 64, 3, 2)
    fine = c3k2(net, x, 128, expansion=0.25)
    middle = c3k2(net, conv(net, fine, 128, 3, 2), 128, "c3k")
    x = c3k2(net, conv(net, middle, 256, 3, 2), 256, "c3k")
    coarse = c2psa(net, spatial_pyramid(net, x))
    middle = c3k2(net, net.concat(net.upsample(coarse, 2), middle), 128)
    fine = c3k2(net, net.concat(net.upsample(middle, 2), fine), 64)
    middle = c3k2(net, net.concat(conv(net, fine, 64, 3, 2), middle), 128)
    x = net.concat(conv(net, middle, 128, 3, 2), coarse)
    coarse = c3k2(net, x, 256, "c3k")
    head(net, (fine, middle, coarse), 64, SIDES)
