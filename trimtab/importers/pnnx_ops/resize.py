"""Resizing, under its many names."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers.pnnx_ops.operator import PnnxOperator, handles
from trimtab.importers.vocabulary import resize as images
from trimtab.importers.vocabulary.window import image, plane, restore

# Names that say how.
_MODES = {
    "nn.UpsamplingNearest2d": "nearest",
    "F.upsample_nearest": "nearest",
    "nn.UpsamplingBilinear2d": "bilinear",
    "F.upsample_bilinear": "bilinear",
}

# What PyTorch's modes are: interpolation, coordinates, rounding.
_HOW = {
    "nearest": ("nearest", "asymmetric", "floor"),
    "nearest-exact": ("nearest", "half_pixel", "round_prefer_ceil"),
    "linear": ("linear", "half_pixel", "floor"),
    "bilinear": ("linear", "half_pixel", "floor"),
}


@handles("nn.Upsample", "F.interpolate", "F.upsample", *_MODES)
def resize(op: PnnxOperator) -> Value:
    """To a size, or by factors; with factors, they say where pixels lie."""
    given = op.x(0, "input")
    spatial = len(given.shape) - 2
    x = image(op, given, spatial)
    mode = op.text("mode", _MODES.get(op.type, "nearest"))
    aligned = op.boolean("align_corners", "ilinear" in _MODES.get(op.type, ""))
    if op.boolean("antialias", False):
        raise op.unsupported("it is smoothed (antialias)")
    scales: tuple[float, ...] = ()
    if op.has("size"):
        sizes = plane(op.integers("size", spatial), 1)
    else:
        factors = op.reals("scale_factor", spatial)
        scales = (1.0, *factors)[-2:]
        if min(scales) <= 0 or max(scales) > 2**20:
            raise op.invalid(f"its factors are {list(factors)}")
        sizes = (int(x.shape[2] * scales[0]), int(x.shape[3] * scales[1]))
    if mode not in _HOW:
        raise op.unsupported(f"its mode is {mode}")
    kind, coordinates, rounding = _HOW[mode]
    if aligned and kind == "linear":
        coordinates = "align_corners"
    scales = tuple(float(np.float32(scale)) for scale in scales)
    y = images.resize(op, x, sizes, kind, coordinates, rounding, scales)
    return restore(op, y, spatial, given)
