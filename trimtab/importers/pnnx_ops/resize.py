"""Resizing, under its many names."""

from __future__ import annotations

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers.pnnx_ops.convolution import image, plane, restore
from trimtab.importers.pnnx_ops.operator import Operator, handles

# Names that say how.
_MODES = {
    "nn.UpsamplingNearest2d": "nearest",
    "F.upsample_nearest": "nearest",
    "nn.UpsamplingBilinear2d": "bilinear",
    "F.upsample_bilinear": "bilinear",
}


@handles("nn.Upsample", "F.interpolate", "F.upsample", *_MODES)
def resize(op: Operator) -> Value:
    """To a size, or by factors; with factors, they say where pixels lie."""
    given = op.x(0, "input")
    spatial = len(given.shape) - 2
    if spatial not in (1, 2):
        raise op.unsupported(f"its input has {len(given.shape)} dimensions")
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
    y = _resize(op, x, sizes, tuple(float(np.float32(s)) for s in scales), mode, aligned)
    return restore(op, y, spatial, given)


def _resize(
    op: Operator,
    x: Value,
    sizes: tuple[int, ...],
    scales: tuple[float, ...],
    mode: str,
    aligned: bool,
) -> Value:
    shared = {"sizes": sizes, "scales": scales}
    if mode == "nearest":
        return op.add(
            "resize",
            x,
            mode="nearest",
            coordinate_mode="asymmetric",
            nearest_mode="floor",
            **shared,
        )
    if mode == "nearest-exact":
        return op.add(
            "resize",
            x,
            mode="nearest",
            coordinate_mode="half_pixel",
            nearest_mode="round_prefer_ceil",
            **shared,
        )
    if mode in ("linear", "bilinear"):
        coordinates = "align_corners" if aligned else "half_pixel"
        return op.add("resize", x, mode="linear", coordinate_mode=coordinates, **shared)
    raise op.unsupported(f"its mode is {mode}")
