"""A detector like YOLO11n (Ultralytics, 2024): 2.6 M parameters, 3.2 GMAC.

SiLU, attention at the coarsest level, boxes as distributions of 16 bins per side. Decoding is left
to the caller: the head `yolov8` reads these outputs.
"""

from __future__ import annotations

from trimtab.zoo.builder import Net
from trimtab.zoo.detector_blocks import head, levels

INPUT_SHAPE = (1, 3, 640, 640)
SIDES = 4 * 16  # bins of each side


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 640, 640] -> boxes3 to boxes5: float32[1, 64, s, s], and classes3 to
    classes5: float32[1, 80, s, s], with s 80, 40, 20.
    """
    head(net, levels(net, x, "residual", "c3k", shortcut=False), 64, SIDES)
