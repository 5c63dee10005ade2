"""Gathers and scatters of elements and slices at indices, constant or computed."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary import movement

REDUCTIONS = ("none", "add", "mul", "max", "min")


def _depth(layer: ImportedLayer, x: Operand, indices: Operand) -> int:
    """The number of dimensions of x that indices [..., axes] select in."""
    depth = indices.shape[-1] if indices.shape else 0
    if not 1 <= depth <= len(x.shape):
        raise layer.invalid(f"its indices are {list(indices.shape)} for {len(x.shape)} dimensions")
    return depth


def gathered_slices(layer: ImportedLayer, x: Operand, indices: Operand) -> Operand:
    """Gathers elements or slices of `x` at indices [..., axes]."""
    _depth(layer, x, indices)
    if isinstance(indices, np.ndarray):
        return movement.gathered_slices(layer, x, indices)
    return layer.add("gather_nd", layer.value(x), indices)


def scattered(
    layer: ImportedLayer, x: Value, updates: Value, indices: Operand, reduction: str = "none"
) -> Value:
    """x with its rows at `indices` [k] replaced by updates, or combined with them.

    The rows are as long as k rows of the updates; indices outside of x have no effect.
    """
    count = math.prod(indices.shape)
    if not count or not math.prod(updates.shape):
        return x
    length = math.prod(updates.shape) // count
    rows, updates = layer.reshape(x, (-1, length)), layer.reshape(updates, (count, length))
    column = layer.value(layer.reshape(indices, (count, 1)))
    return layer.reshape(_scatter(layer, rows, column, updates, reduction), x.shape)


def scattered_slices(
    layer: ImportedLayer, x: Value, indices: Operand, updates: Value, reduction: str = "none"
) -> Value:
    """x with elements or slices at indices [..., axes] replaced or combined."""
    depth = _depth(layer, x, indices)
    layer.check_shape("updates", updates.shape, (*indices.shape[:-1], *x.shape[depth:]))
    if not isinstance(indices, np.ndarray) or x.counted or updates.counted:
        return _scatter(layer, x, layer.value(indices), updates, reduction)
    rows = movement.flat_indices(layer, indices, x.shape[:depth])
    return scattered(layer, x, updates, rows, reduction)


def scattered_elements(
    layer: ImportedLayer,
    x: Value,
    indices: Operand,
    updates: Value,
    axis: int,
    reduction: str = "none",
) -> Value:
    """x with single elements at indices along an axis replaced or combined."""
    layer.check_shape("updates", updates.shape, indices.shape)
    if len(indices.shape) != len(x.shape):
        raise layer.invalid(f"its indices have {len(indices.shape)} dimensions")
    if not math.prod(indices.shape):
        return x
    if isinstance(indices, np.ndarray):
        movement.flat_indices(layer, indices[..., np.newaxis], x.shape[axis : axis + 1])
    by_element = {"by_element": True, "axis": axis}
    return _scatter(layer, x, layer.value(indices), updates, reduction, **by_element)


def _scatter(
    layer: ImportedLayer, x: Value, indices: Value, updates: Value, reduction: str, **more: int
) -> Value:
    if reduction not in REDUCTIONS:
        raise layer.unsupported(f"its reduction is {reduction}")
    return layer.add("scatter_nd", x, indices, updates, reduction=reduction, **more)
