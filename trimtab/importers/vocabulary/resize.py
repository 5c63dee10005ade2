"""Resizing of images."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.movement import gathered
from trimtab.program.block import NUMPY_DTYPES

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


# Along any axis, by a constant matrix of weights or constant indices.

_TIE = 1e-6  # tolerance of ties between two pixels, as in the engine
_KEYS_A = -0.75  # of the cubic filter
_CROP = "tf_crop_and_resize"


@dataclass(frozen=True)
class AxisResize:
    """The resizing of one axis from `before` to `after` elements, with ONNX's names of modes.

    `antialias` widens the filter when it shrinks. Weights outside of the input are those of its
    border, or 0 with `exclude_outside`. `roi` is the part of the input that tf_crop_and_resize
    resizes, normalized; results at places outside of the input are `extrapolation_value`.
    """

    before: int
    after: int
    scale: float
    mode: str
    coordinate_mode: str
    nearest_mode: str = "round_prefer_floor"
    cubic_a: float = _KEYS_A
    antialias: bool = False
    exclude_outside: bool = False
    roi: tuple[float, float] = (0.0, 1.0)
    extrapolation_value: float = 0.0

    def applied(self, layer: ImportedLayer, x: Value, axis: int) -> Value:
        """Resizes an axis of `x`."""
        if self.mode == "nearest":
            y = layer.value(gathered(layer, x, self._nearest(layer), axis))
        else:
            y = self._weighted(layer, x, axis)
        return self._extrapolated(layer, y, axis)

    def _extrapolated(self, layer: ImportedLayer, y: Value, axis: int) -> Value:
        if self.coordinate_mode != _CROP:
            return y
        places = self._coordinates(layer)
        outside = (places < 0) | (places > self.before - 1)
        if not outside.any():
            return y
        shape = [1] * len(y.shape)
        shape[axis] = self.after
        value = np.array(self.extrapolation_value).astype(NUMPY_DTYPES[y.dtype])
        return layer.add("where", layer.value(outside.reshape(shape)), layer.value(value), y)

    def _weighted(self, layer: ImportedLayer, x: Value, axis: int) -> Value:
        outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
        layer.check_elements((self.after, self.before))
        weights = self._weights(layer)
        if inner == 1:
            y = layer.reshape(x, (outer, self.before))
            y = layer.add("gemm", y, layer.constant(weights, "weights"))
        else:
            y = layer.reshape(x, (outer, self.before, inner))
            y = layer.add("mat_mul", layer.constant(weights, "weights"), y)
        return layer.reshape(y, (*x.shape[:axis], self.after, *x.shape[axis + 1 :]))

    def _coordinates(self, layer: ImportedLayer) -> Array:
        i = np.arange(self.after, dtype=np.float64)
        if self.coordinate_mode == "asymmetric":
            return i / self.scale
        if self.coordinate_mode == "align_corners":
            return i * ((self.before - 1) / max(1, self.after - 1))
        if self.coordinate_mode == "tf_half_pixel_for_nn":
            return (i + 0.5) / self.scale
        if self.coordinate_mode == _CROP:
            return self._cropped(i)
        center = (i + 0.5) / self.scale - 0.5
        if self.coordinate_mode == "half_pixel":
            return center
        if self.coordinate_mode == "pytorch_half_pixel":
            return center if self.after > 1 else np.zeros(1)
        if self.coordinate_mode == "half_pixel_symmetric":
            return center + self.before / 2 * (1 - self.after / (self.scale * self.before))
        raise layer.unsupported(f"its coordinates are {self.coordinate_mode}")

    def _cropped(self, i: Array) -> Array:
        """In float32 like onnxruntime, because rounding decides which places are outside."""
        begin, end = np.array(self.roi, np.float32)
        last = np.float32(self.before - 1)
        if self.after == 1:
            return np.array([np.float32(0.5) * (begin + end) * last])
        steps = i.astype(np.float32) * (end - begin) * last / np.float32(self.after - 1)
        places: Array = begin * last + steps
        return places

    def _nearest(self, layer: ImportedLayer) -> Array:
        x = self._coordinates(layer)
        below = np.floor(x)
        rest = x - below
        tie = np.abs(rest - 0.5) <= _TIE
        up = {
            "round_prefer_floor": (rest > 0.5) & ~tie,
            "round_prefer_ceil": (rest > 0.5) | tie,
            "floor": np.zeros(x.shape, np.bool_),
            "ceil": rest > 0,
        }[self.nearest_mode]
        places: Array = np.clip(below + up, 0, self.before - 1).astype(np.int64)
        return places

    def _weights(self, layer: ImportedLayer) -> Array:
        """float32[after, before]: the weights of the inputs of each result."""
        shrink = min(self.scale, 1.0) if self.antialias else 1.0
        support = math.ceil((2 if self.mode == "cubic" else 1) / shrink)
        centers = self._coordinates(layer)[:, np.newaxis]
        taps = np.floor(centers) + np.arange(1 - support, support + 1)
        weights = self._filter(np.abs(taps - centers) * shrink)
        if self.exclude_outside:
            weights = np.where((taps >= 0) & (taps < self.before), weights, 0)
        weights = weights / weights.sum(1, keepdims=True)
        matrix = np.zeros((self.after, self.before))
        rows = np.broadcast_to(np.arange(self.after)[:, np.newaxis], taps.shape)
        np.add.at(matrix, (rows, np.clip(taps, 0, self.before - 1).astype(np.int64)), weights)
        return matrix.astype(np.float32)

    def _filter(self, x: Array) -> Array:
        """The weight of an input at the distance x >= 0."""
        if self.mode == "linear":
            triangle: Array = np.maximum(0, 1 - x)
            return triangle
        a = self.cubic_a  # Keys 1981
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0.0))
