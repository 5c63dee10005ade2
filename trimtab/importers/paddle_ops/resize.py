"""Interpolation."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles
from trimtab.importers.paddle_ops.window import channels_first, restored
from trimtab.importers.vocabulary.resize import resize
from trimtab.importers.vocabulary.window import Pair


@handles("nearest_interp", "nearest_interp_v2", "bilinear_interp", "bilinear_interp_v2")
def interpolate(node: PaddleNode) -> Results:
    """Resizes x: [n, c, h, w] by nearest neighbor or linearly."""
    x = channels_first(node, "X", "data_layout")
    scales = _scales(node)
    sizes = _sizes(node, x.shape[2:], scales)
    mode = "linear" if node.type.startswith("bilinear") else "nearest"
    coordinates, rounding = "asymmetric", "floor"
    if node.boolean("align_corners", True):
        scales = None
        coordinates, rounding = "align_corners", "round_prefer_ceil"  # floor(x + 0.5)
    elif mode == "linear" and node.integer("align_mode", 1) == 0:
        coordinates = "pytorch_half_pixel"
    y = resize(node, x, sizes, mode, coordinates, rounding, scales or ())
    return restored(node, y, "data_layout")


def _scales(node: PaddleNode) -> tuple[float, float] | None:
    """Vertical and horizontal scale; None if the sizes are specified instead."""
    if node.has("SizeTensor"):
        return None
    scales = node.numbers("Scale") or node.reals("scale", (0.0,))
    if not scales or min(scales) <= 0:
        return None
    return scales[0], scales[-1]


def _sizes(node: PaddleNode, size: Sequence[int], scales: tuple[float, float] | None) -> Pair:
    """Height and width of the result; sizes in inputs take precedence."""
    if values := node.numbers("OutSize", "SizeTensor"):
        return int(values[0]), int(values[-1])
    if scales:
        return int(size[0] * scales[0]), int(size[1] * scales[1])
    return node.integer("out_h", 0), node.integer("out_w", 0)
