"""Resizing of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trimtab.importers._graph import Value
from trimtab.importers._layer import ImportedLayer

# Coordinates and rounding that repeat each pixel if the factor is an integer.
_CENTERS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
_REPEATING = {
    ("asymmetric", "floor"),
    ("tf_half_pixel_for_nn", "floor"),
    *((center, f"round_prefer_{side}") for center in _CENTERS for side in ("floor", "ceil")),
}
# Coordinates that do not change if the size does not.
_STILL = ("asymmetric", "align_corners", *_CENTERS)


def resize(
    layer: ImportedLayer,
    x: Value,
    sizes: Sequence[int],
    mode: str,
    coordinate_mode: str = "asymmetric",
    nearest_mode: str = "floor",
    scales: Sequence[float] = (),
    **more: Any,
) -> Value:
    """Resizes x: [n, c, h, w] to `sizes` (height, width), by nearest neighbor or linearly.

    `scales` are those of the file, if it has any. `more` are attributes that only ONNX has.
    """
    if mode not in ("nearest", "linear"):
        raise layer.unsupported(f"its mode is {mode}")
    factors = [size / n for size, n in zip(sizes, x.shape[2:], strict=True)]
    if all(factor.is_integer() for factor in factors) and list(scales) in ([], factors):
        scales = ()  # the sizes are sufficient
        if mode == "nearest" and (coordinate_mode, nearest_mode) in _REPEATING:
            coordinate_mode, nearest_mode = "asymmetric", "floor"
    if mode == "linear":
        nearest_mode = "floor"
    if set(factors) == {1.0} and not scales and coordinate_mode in _STILL:
        return x
    return layer.add(
        "resize",
        x,
        sizes=tuple(sizes),
        scales=tuple(scales),
        mode=mode,
        coordinate_mode=coordinate_mode,
        nearest_mode=nearest_mode,
        **more,
    )
