"""Gathers and scatters of rows at computed places."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary import movement
from trimtab.importers.vocabulary.elementwise import integer
from trimtab.program.block import NUMPY_DTYPES

REDUCTIONS = ("none", "add", "mul", "max", "min")


def _number(layer: ImportedLayer, value: int, like: Value) -> Value:
    return layer.value(np.array(value, NUMPY_DTYPES[like.dtype]))


def from_begin(layer: ImportedLayer, indices: Value, size: int) -> Value:
    """Indices of which negative ones count from the end of `size` elements."""
    is_negative = layer.add("compare", indices, _number(layer, 0, indices), relation="less")
    shifted = integer(layer, "add", indices, _number(layer, size, indices))
    return layer.add("where", is_negative, shifted, indices)


def flat_indices(layer: ImportedLayer, indices: Value, shape: Sequence[int]) -> Value:
    """The places in a flattened tensor of `shape` for computed indices [..., len(shape)]: [k]."""
    depth = len(shape)
    rows = layer.reshape(indices, (math.prod(indices.shape[:-1]), depth))
    total: Value | None = None
    for axis, column in enumerate(movement.split(layer, rows, 1, (1,) * depth)):
        place = from_begin(layer, column, shape[axis])
        stride = math.prod(shape[axis + 1 :])
        if stride != 1:
            place = integer(layer, "mul", place, _number(layer, stride, place))
        total = place if total is None else integer(layer, "add", total, place)
    assert total is not None
    return layer.reshape(total, (-1,))


def gathered_slices(layer: ImportedLayer, x: Operand, indices: Operand) -> Operand:
    """Gathers elements or slices of `x` at indices [..., axes]."""
    if isinstance(indices, np.ndarray):
        return movement.gathered_slices(layer, x, indices)
    depth = indices.shape[-1] if indices.shape else 0
    if not 1 <= depth <= len(x.shape):
        raise layer.invalid(f"its indices are {list(indices.shape)} for {len(x.shape)} dimensions")
    rows = layer.reshape(layer.value(x), (math.prod(x.shape[:depth]), *x.shape[depth:]))
    places = flat_indices(layer, indices, x.shape[:depth])
    y = layer.add("gather", rows, places, axis=0)
    return layer.reshape(y, (*indices.shape[:-1], *x.shape[depth:]))


def scattered(
    layer: ImportedLayer, x: Value, updates: Value, indices: Value, reduction: str = "none"
) -> Value:
    """x with its rows at computed `indices` [k] replaced by updates, or combined with them.

    The rows are as long as k rows of the updates; places outside of x have no effect.
    """
    if reduction not in REDUCTIONS:
        raise layer.unsupported(f"its reduction is {reduction}")
    (count,) = indices.shape
    if not count or not math.prod(updates.shape):
        return x
    length = math.prod(updates.shape) // count
    rows, updates = layer.reshape(x, (-1, length)), layer.reshape(updates, (count, length))
    return layer.reshape(layer.add("scatter", rows, indices, updates, reduction=reduction), x.shape)


def scattered_slices(
    layer: ImportedLayer, x: Value, indices: Value, updates: Value, reduction: str = "none"
) -> Value:
    """x with elements or slices at computed indices [..., axes] replaced or combined."""
    depth = indices.shape[-1] if indices.shape else 0
    if not 1 <= depth <= len(x.shape):
        raise layer.invalid(f"its indices are {list(indices.shape)} for {len(x.shape)} dimensions")
    layer.check_shape("updates", updates.shape, (*indices.shape[:-1], *x.shape[depth:]))
    places = flat_indices(layer, indices, x.shape[:depth])
    return scattered(layer, x, updates, places, reduction)


def scattered_elements(
    layer: ImportedLayer,
    x: Value,
    indices: Value,
    updates: Value,
    axis: int,
    reduction: str = "none",
) -> Value:
    """x with single elements at computed indices along an axis replaced or combined."""
    layer.check_shape("updates", updates.shape, indices.shape)
    if len(indices.shape) != len(x.shape):
        raise layer.invalid(f"its indices have {len(indices.shape)} dimensions")
    strides = [math.prod(x.shape[i + 1 :]) for i in range(len(x.shape))]
    layer.check_elements((len(x.shape) + 1, *indices.shape), 8)
    grid = np.indices(indices.shape)
    base = sum(grid[i] * strides[i] for i in range(len(x.shape)) if i != axis)
    place = from_begin(layer, indices, x.shape[axis])
    if strides[axis] != 1:
        place = integer(layer, "mul", place, _number(layer, strides[axis], place))
    if len(x.shape) > 1:
        offsets = np.asarray(base, NUMPY_DTYPES[place.dtype])
        place = integer(layer, "add", place, layer.value(offsets))
    return scattered(layer, x, updates, layer.reshape(place, (-1,)), reduction)
