"""Resizing of images and signals."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers.pnnx_ops.operator import PnnxOperator, handles
from trimtab.importers.vocabulary import resize as images
from trimtab.importers.vocabulary.window import as_pair, from_image, to_image

# Operators whose names determine the mode.
_MODES = {
    "nn.UpsamplingNearest2d": "nearest",
    "F.upsample_nearest": "nearest",
    "nn.UpsamplingBilinear2d": "bilinear",
    "F.upsample_bilinear": "bilinear",
}

# PyTorch's modes: interpolation, coordinates, rounding.
_INTERPOLATIONS = {
    "nearest": ("nearest", "asymmetric", "floor"),
    "nearest-exact": ("nearest", "half_pixel", "round_prefer_ceil"),
    "linear": ("linear", "half_pixel", "floor"),
    "bilinear": ("linear", "half_pixel", "floor"),
}


@handles("nn.Upsample", "F.interpolate", "F.upsample", *_MODES)
def resize(op: PnnxOperator) -> Value:
    """Resizes to a size, or by factors, which then determine the coordinates."""
    source = op.x(0, "input")
    spatial = len(source.shape) - 2
    x = to_image(op, source, spatial)
    mode = op.text("mode", _MODES.get(op.type, "nearest"))
    aligned = op.boolean("align_corners", "ilinear" in _MODES.get(op.type, ""))
    if op.boolean("antialias", False):
        raise op.unsupported("it has antialias=True")
    scales: tuple[float, ...] = ()
    if op.has("size"):
        sizes = as_pair(op.integers("size", spatial), 1)
    else:
        factors = op.reals("scale_factor", spatial)
        scales = (1.0, *factors)[-2:]
        if min(scales) <= 0 or max(scales) > 2**20:
            raise op.invalid(f"its factors are {list(factors)}")
        sizes = (int(x.shape[2] * scales[0]), int(x.shape[3] * scales[1]))
    if mode not in _INTERPOLATIONS:
        raise op.unsupported(f"its mode is {mode}")
    kind, coordinates, rounding = _INTERPOLATIONS[mode]
    if aligned and kind == "linear":
        coordinates = "align_corners"
    scales = tuple(float(np.float32(scale)) for scale in scales)
    y = images.resize(op, x, sizes, kind, coordinates, rounding, scales)
    return from_image(op, y, spatial, source)
