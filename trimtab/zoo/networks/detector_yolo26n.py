"""A detector like YOLO26n (Ultralytics, 2026), with its head for deployment: 2.4 M parameters.

SiLU, attention at two places, boxes as four distances; it needs no suppression. Choosing the best
boxes is left to the caller.
"""

from __future__ import annotations

from trimtab.zoo.builder import Net
from trimtab.zoo.detector_blocks import head, levels

INPUT_SHAPE = (1, 3, 640, 640)
SIDES = 4  # distances to the sides


def build(net: Net, x: str) -> None:
    """data: float32[1, 3, 640, 640] -> boxes3 to boxes5: float32[1, 4, s, s], and classes3 to
    classes5: float32[1, 80, s, s], with s 80, 40, 20.
    """
    head(net, levels(net, x, "c3k", "attention", shortcut=True), 16, SIDES)
