"""Gathers and scatters, CumSum and CumProd."""

from __future__ import annotations

import numpy as np
from onnx import helper

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.counted import coordinates
from trimtab.importers.onnx_ops.node import COMPUTED, OnnxNode, handles
from trimtab.importers.vocabulary import movement, scatter
from trimtab.importers.vocabulary.movement import flat_indices
from trimtab.importers.vocabulary.reduction import cumulative
from trimtab.program.block import NUMPY_DTYPES


@handles("GatherND")
def gather_nd(node: OnnxNode) -> Results:
    """Gathers elements or slices at indices [..., axes]; of each batch its own at constant ones."""
    x, batch = node.x(0), node.integer("batch_dims", 0)
    if not batch:
        return scatter.gathered_slices(node, x, node.operand(1))
    indices = node.known(1, "indices")
    if not 0 < batch < indices.ndim or indices.shape[:batch] != x.shape[:batch]:
        raise node.invalid(f"{batch} dimensions of its indices are not those of its input")
    node.check_elements((2, *indices.shape), 8)
    own = np.indices(indices.shape[:-1])[:batch]
    return movement.gathered_slices(node, x, np.concatenate([*own[..., np.newaxis], indices], -1))


@handles("ScatterND")
def scatter_nd(node: OnnxNode) -> Results:
    """x with elements or slices replaced at, or combined with updates for, indices [..., axes]."""
    reduction = node.text("reduction", "none")
    return scatter.scattered_slices(node, node.x(0), node.operand(1), node.x(2), reduction)


@handles("ScatterElements", "Scatter")
def scatter_elements(node: OnnxNode) -> Results:
    """x with single elements replaced at, or combined with updates for, indices along an axis."""
    x, axis, reduction = node.x(0), node.integer("axis", 0), node.text("reduction", "none")
    operands = node.operand(1), node.x(2)
    return scatter.scattered_elements(node, x, *operands, node.axis(axis), reduction)


@handles("TensorScatter")
def tensor_scatter(node: OnnxNode) -> Results:
    """A cache whose elements along an axis are replaced from constant indices on, per batch."""
    x, updates = node.x(0), node.x(1)
    axis = node.axis(node.integer("axis", -2))
    node.check_elements((2, axis + 1, *updates.shape[: axis + 1]), 8)
    grid = np.moveaxis(np.indices(updates.shape[: axis + 1]), 0, -1).copy()
    if node.has(2):
        starts = node.known(2, "write indices").reshape(-1, *[1] * axis)
        grid[..., axis] += starts
    if node.text("mode", "linear") == "circular":
        grid[..., axis] %= x.shape[axis]
    places = flat_indices(node, grid, x.shape[: axis + 1]).reshape(-1)
    return scatter.scattered(node, x, updates, places)


@handles("Compress")
def compress(node: OnnxNode) -> Results:
    """The slices along an axis, or the elements, for which a condition holds. Of a computed
    condition, their number is that of each run.
    """
    x, axis = node.x(0), node.integer("axis") if node.attribute("axis") is not None else None
    if axis is None:
        if x.counted:
            raise node.unsupported("it flattens a value whose size depends on data")
        x, axis = node.reshape(x, (-1,)), 0
    if not node.is_known(1):
        places = node.add("free_view", coordinates(node, node.x(1)), dimensions=(1,))
        return node.add("gather", x, places, axis=axis)
    condition = node.known(1, "condition").reshape(-1)
    (chosen,) = np.nonzero(condition)
    if not chosen.size or chosen.max() >= x.shape[node.axis(axis, len(x.shape))]:
        raise node.unsupported("it selects nothing, or elements behind the end of its input")
    return movement.gathered(node, x, chosen, axis)


@handles("ReverseSequence")
def reverse_sequence(node: OnnxNode) -> Results:
    """The first elements along the axis of time reversed, a constant number per batch."""
    x, lengths = node.x(0), node.known(1, "sequence lengths").reshape(-1)
    time, batch = node.integer("time_axis", 0), node.integer("batch_axis", 1)
    if sorted((time, batch)) != [0, 1] or len(x.shape) < 2:
        raise node.invalid(f"its axes {time} and {batch} are not 0 and 1")
    if lengths.size != x.shape[batch] or lengths.min() < 0 or lengths.max() > x.shape[time]:
        raise node.invalid(f"its lengths {lengths.tolist()} do not fit {list(x.shape)}")
    node.check_elements((4, *x.shape[:2]), 8)
    own = np.indices(x.shape[:2])
    step, last = own[time], lengths[own[batch]] - 1
    own[time] = np.where(step <= last, last - step, step)
    return movement.gathered_slices(node, x, np.moveaxis(own, 0, -1))


@handles("OneHot")
def one_hot(node: OnnxNode) -> Results:
    """One of two values: the second at the index, which may be negative, along a new axis."""
    indices, values, depth = node.x(0), node.x(2), int(node.number(1, "depth"))
    rank = len(indices.shape)
    axis = node.axis(node.integer("axis", -1), rank + 1)
    node.check_elements((4, depth), 8)
    column = node.value(movement.unsqueezed(node, indices, axis))
    dtype = NUMPY_DTYPES[indices.dtype]
    places: Array = np.arange(depth).reshape(-1, *[1] * (rank - axis))

    def at(offset: int) -> Value:
        return node.add(
            "compare", column, node.value((places + offset).astype(dtype)), relation="equal"
        )

    first, second = at(0), at(-depth)
    off, on = movement.split(node, node.reshape(values, (2,)), 0, (1, 1))
    return node.add("where", first, on, node.add("where", second, on, off))


@handles("EyeLike")
def eye_like(node: OnnxNode) -> Results:
    """A constant diagonal of ones in the shape of x."""
    shape = node.shape()
    if len(shape) != 2:
        raise node.invalid(f"its input has {len(shape)} dimensions, not 2")
    to = node.integer("dtype", 0)
    own = helper.tensor_dtype_to_np_dtype(to) if to else np.dtype(NUMPY_DTYPES[node.dtype(0)])
    dtype = np.dtype(COMPUTED.get(own.name, own))
    node.check_elements(shape, dtype.itemsize)
    return node.value(np.eye(*shape, node.integer("k", 0), dtype=dtype))


@handles("CumSum", "CumProd")
def cumulated(node: OnnxNode) -> Results:
    """Sums or products along a constant axis up to each element, or from it on."""
    return cumulative(
        node,
        "add" if node.type == "CumSum" else "mul",
        node.x(0),
        node.axis(int(node.number(1, "axis"))),
        reverse=node.boolean("reverse", False),
        exclusive=node.boolean("exclusive", False),
    )
