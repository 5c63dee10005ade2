"""Samples of images and volumes at computed places, by gathers of the elements around them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.elementwise import integer


@dataclass(frozen=True)
class Tap:
    """An element beside each place along one axis: its index (i64), and its weight (f32)."""

    index: Value
    weight: Value


def linear_taps(layer: ImportedLayer, positions: Value, size: int) -> list[Tap]:
    """The two elements around places along an axis of `size` elements, clamped to it."""
    low = layer.add("floor", positions)
    high = layer.shifted(low, 1.0)
    behind = layer.add("sub", positions, low)
    before = layer.add("sub", layer.constant(1.0, "one"), behind)
    return [
        Tap(_whole(layer, low, size), before),
        Tap(_whole(layer, high, size), behind),
    ]


def nearest_tap(layer: ImportedLayer, positions: Value, size: int) -> list[Tap]:
    """The element nearest to each place."""
    return [Tap(_whole(layer, layer.add("round", positions), size), layer.constant(1.0, "one"))]


def _whole(layer: ImportedLayer, positions: Value, size: int) -> Value:
    return layer.add(
        "cast", layer.add("clip", positions, alpha=0.0, beta=float(size - 1)), to="i64"
    )


def within(layer: ImportedLayer, positions: Value, low: float, high: float) -> Value:
    """Whether places are from `low` to `high`."""
    first = layer.add("compare", layer.constant(low, "low"), positions, relation="less_or_equal")
    last = layer.add("compare", positions, layer.constant(high, "high"), relation="less_or_equal")
    return layer.add("where", first, last, first)


def zero_outside(
    layer: ImportedLayer, taps: Sequence[Tap], positions: Value, size: int, *, nearest: bool
) -> list[Tap]:
    """The taps, with the weight 0 for elements outside of the axis."""
    base = layer.add("round" if nearest else "floor", positions)
    result = []
    for offset, tap in enumerate(taps):
        inside = within(layer, layer.shifted(base, float(offset)), 0.0, float(size - 1))
        weight = layer.add("where", inside, tap.weight, layer.constant(0.0, "zero"))
        result.append(Tap(tap.index, weight))
    return result


def corners(
    layer: ImportedLayer, x: Value, sizes: Sequence[int], taps: Sequence[Sequence[Tap]], base: Value
) -> list[Value]:
    """The weighted elements at all combinations of the taps of each axis: [c, ...].

    x: [c, images * elements]; `sizes`: of the axes of an image; `base`: i64 place of the first
    element of the image. Indices and weights of taps broadcast to the shape of the result.
    """
    results = []
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    for corner in itertools.product(*taps):
        place, weight = base, None
        for tap, stride in zip(corner, strides, strict=True):
            step = layer.value(np.array(stride, np.int64))
            offset = tap.index if stride == 1 else integer(layer, "mul", tap.index, step)
            place = integer(layer, "add", place, offset)
            weight = tap.weight if weight is None else layer.add("mul", weight, tap.weight)
        assert weight is not None
        results.append(layer.add("mul", layer.add("gather", x, place, axis=1), weight))
    return results


def reflected(layer: ImportedLayer, positions: Value, low: float, high: float) -> Value:
    """Places reflected at both ends until they are between them."""
    span = high - low
    if not span:
        return layer.add("mul", positions, layer.constant(0.0, "zero"))
    size = layer.add("abs", layer.shifted(positions, -low))
    turns = layer.add("floor", layer.scaled(size, 1 / span))
    rest = layer.add("sub", size, layer.scaled(turns, span))
    half = layer.add("floor", layer.scaled(turns, 0.5))
    is_even = layer.add("compare", layer.scaled(half, 2.0), turns, relation="equal")
    back = layer.scale_and_shift(rest, -1.0, high)
    return layer.add("where", is_even, layer.shifted(rest, low), back)
