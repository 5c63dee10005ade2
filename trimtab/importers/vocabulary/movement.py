"""Data movement: reshape, slice, concat, pad and tile, of tensors and of constants."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.program.block import NUMPY_DTYPES

END = 2**31 - 1
"""A slice bound beyond any dimension."""

AxisSlice = tuple[int, int, int, int]
"""Axis, start, end and step of a slice, with Python's meaning."""

# The engine's padding modes by the names of the formats.
PAD_MODES = {
    "constant": "constant",
    "zeros": "constant",
    "reflect": "reflect",
    "edge": "edge",
    "replicate": "edge",
    "wrap": "wrap",
    "circular": "wrap",
}

# Permutations from [n, h, w, c] to [n, c, h, w], and back.
TO_CHANNELS_FIRST, TO_CHANNELS_LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def drop_axes(shape: Sequence[int], axes: Collection[int]) -> tuple[int, ...]:
    """`shape` without `axes`."""
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def sliced(layer: ImportedLayer, x: Operand, axis_slices: Iterable[AxisSlice]) -> Operand:
    """Slices `x` along some axes."""
    slices = {}
    for axis, start, end, step in axis_slices:
        if step == 0 or axis in slices:
            raise layer.invalid("its step is 0" if step == 0 else f"axis {axis} is given twice")
        slices[axis] = slice(start, end, step)
    if isinstance(x, np.ndarray):
        return x[tuple(slices.get(axis, slice(None)) for axis in range(x.ndim))]
    rows = []
    for axis, bounds in sorted(slices.items()):
        start, end, step = bounds.indices(x.shape[axis])
        count = len(range(start, end, step))
        if not count:
            # The engine reports bounds that are out of range.
            rows.append((axis, *(_clamped(v) for v in (bounds.start, bounds.stop)), step))
        elif count < x.shape[axis] or step < 0:
            rows.append((axis, start, -END if end < 0 else end, step))
    if not rows:
        return x
    axes, starts, ends, steps = zip(*rows, strict=True)
    return layer.add("slice", x, starts=starts, ends=ends, axes=axes, steps=steps)


def _clamped(bound: int) -> int:
    return max(-END, min(END, bound))


def axis_slice(layer: ImportedLayer, x: Value, axis: int, begin: int, end: int) -> Value:
    """Slices `x` along one axis."""
    return layer.value(sliced(layer, x, [(axis, begin, end, 1)]))


def split(layer: ImportedLayer, x: Value, axis: int, sizes: Sequence[int]) -> tuple[Value, ...]:
    """Splits `x` along an axis; a single -1 among the sizes takes the remaining elements."""
    sizes = list(sizes)
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(sizes) - 1
    if len(sizes) == 1:
        return (x,)
    return layer.add_many("split", x, outputs=len(sizes), axis=axis, sizes=tuple(sizes))


def equal_parts(layer: ImportedLayer, size: int, count: int) -> list[int]:
    """The sizes of `count` equal parts of `size`."""
    if count < 1 or size % count:
        raise layer.invalid(f"{size} cannot be split into {count} equal parts")
    return [size // count] * count


def concat(layer: ImportedLayer, operands: Sequence[Operand], axis: int) -> Operand:
    """Concatenates operands along an axis."""
    if arrays := _all_constant(operands):
        layer.check_elements((sum(x.size for x in arrays),), max(x.itemsize for x in arrays))
        return np.concatenate(arrays, axis)
    values = [layer.value(x) for x in operands]
    return values[0] if len(values) == 1 else layer.add("concat", *values, axis=axis)


def stack(layer: ImportedLayer, operands: Sequence[Operand], axis: int) -> Operand:
    """Concatenates operands along a new axis, which may be negative."""
    axis = layer.axis(axis, len(operands[0].shape) + 1 if operands else 0)
    if arrays := _all_constant(operands):
        layer.check_elements((sum(x.size for x in arrays),), max(x.itemsize for x in arrays))
        return np.stack(arrays, axis)
    return concat(layer, [unsqueezed(layer, x, axis) for x in operands], axis)


def unstack(layer: ImportedLayer, x: Value, axis: int) -> tuple[Value, ...]:
    """Splits `x` along an axis into slices of one element, and drops the axis."""
    axis = layer.axis(axis, len(x.shape))
    shape = drop_axes(x.shape, [axis]) or (1,)
    parts = split(layer, x, axis, (1,) * x.shape[axis])
    return tuple(layer.reshape(y, shape) for y in parts)


def _all_constant(operands: Sequence[Operand]) -> list[Array]:
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    return arrays if len(arrays) == len(operands) else []


def unsqueezed(layer: ImportedLayer, x: Operand, *axes: int) -> Operand:
    """Inserts dimensions of 1; `axes` are axes of the result."""
    shape = list(x.shape)
    for axis in sorted(layer.axis(axis, len(shape) + len(axes)) for axis in axes):
        shape.insert(axis, 1)
    return layer.reshape(x, shape)


def squeezed(layer: ImportedLayer, x: Operand, axes: Iterable[int] = ()) -> Operand:
    """Drops those of `axes`, by default of all axes, that are 1."""
    candidates = {layer.axis(axis, len(x.shape)) for axis in axes} or set(range(len(x.shape)))
    return layer.reshape(x, drop_axes(x.shape, {a for a in candidates if x.shape[a] == 1}))


def flattened(layer: ImportedLayer, x: Operand, first: int, last: int = -1) -> Operand:
    """Merges the dimensions from `first` to `last` into one."""
    first, last = (layer.axis(axis, len(x.shape)) for axis in (first, last))
    if last < first:
        raise layer.invalid(f"its first axis {first} is behind its last axis {last}")
    middle = math.prod(x.shape[first : last + 1])
    return layer.reshape(x, (*x.shape[:first], middle, *x.shape[last + 1 :]))


def flatten_to_matrix(layer: ImportedLayer, x: Operand, cut: int) -> Operand:
    """Reshapes `x` to a matrix; the dimensions from `cut` on become the columns."""
    if not 0 <= cut <= len(x.shape):
        raise layer.invalid(f"axis {cut} is outside {len(x.shape)} dimensions")
    return layer.reshape(x, (math.prod(x.shape[:cut]), math.prod(x.shape[cut:])))


def resolve_zeros(layer: ImportedLayer, x: Operand, shape: Sequence[int]) -> list[int]:
    """`shape` with each 0 replaced by the dimension of `x` at the same axis."""
    if any(n == 0 and i >= len(x.shape) for i, n in enumerate(shape)):
        raise layer.invalid(f"{list(shape)} copies a dimension that {list(x.shape)} lacks")
    return [x.shape[i] if n == 0 else n for i, n in enumerate(shape)]


def padded(
    layer: ImportedLayer,
    x: Value,
    amounts: Mapping[int, Sequence[int]],
    mode: str = "constant",
    value: float = 0.0,
) -> Value:
    """Pads `x` by `amounts`: (begin, end) by axis. Negative amounts crop."""
    if mode not in PAD_MODES:
        raise layer.unsupported(f"its mode is {mode}")
    pads = [0] * (2 * len(x.shape))
    for axis, (begin, end) in amounts.items():
        pads[axis], pads[len(x.shape) + axis] = begin, end
    if not any(pads):
        return x
    return layer.add("pad", x, pads=pads, mode=PAD_MODES[mode], value=value)


def dilated(layer: ImportedLayer, x: Value, axis: int, distance: int, value: float = 0.0) -> Value:
    """Puts `distance - 1` times `value` between the elements along an axis."""
    before, n, behind = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    y = layer.reshape(x, (*before, n, 1, *behind))
    y = padded(layer, y, {axis + 1: (0, distance - 1)}, value=value)
    y = layer.reshape(y, (*before, n * distance, *behind))
    return axis_slice(layer, y, axis, 0, (n - 1) * distance + 1)


def padded_symmetrically(
    layer: ImportedLayer, x: Value, amounts: Mapping[int, Sequence[int]]
) -> Value:
    """Pads `x` by reflections that repeat the edge; amounts are (begin, end) by axis."""
    for axis, (begin, end) in amounts.items():
        n = x.shape[axis]
        if not 0 <= begin <= n or not 0 <= end <= n:
            raise layer.invalid(f"{n} elements cannot be padded by {begin} and {end} reflected")
        before = [sliced(layer, x, [(axis, begin - 1, -END, -1)])] if begin else []
        after = [sliced(layer, x, [(axis, -1, n - end - 1 if end < n else -END, -1)])]
        x = layer.value(concat(layer, [*before, x, *(after if end else [])], axis))
    return x


def expanded(layer: ImportedLayer, x: Operand, target: Sequence[int]) -> Operand:
    """Broadcasts `x` to the shape `target`, in which -1 keeps a dimension."""
    lift = len(target) - len(x.shape)
    if lift < 0:
        raise layer.invalid(f"{list(x.shape)} cannot be expanded to {list(target)}")
    sizes = (x.shape[i - lift] if n == -1 and i >= lift else n for i, n in enumerate(target))
    try:
        shape = np.broadcast_shapes(x.shape, tuple(sizes))
    except ValueError:
        raise layer.invalid(f"{list(x.shape)} cannot be expanded to {list(target)}") from None
    if isinstance(x, np.ndarray):
        layer.check_elements(shape, x.itemsize)
        return np.ascontiguousarray(np.broadcast_to(x, shape))
    return x if shape == x.shape else layer.add("expand", x, shape=shape)


def tiled(layer: ImportedLayer, x: Operand, counts: Sequence[int]) -> Operand:
    """Repeats `x` along its axes; `counts` is aligned with the last axes."""
    rank = max(len(counts), len(x.shape))
    counts = (1,) * (rank - len(counts)) + tuple(counts)
    shape = (1,) * (rank - len(x.shape)) + tuple(x.shape)
    if isinstance(x, np.ndarray):
        layer.check_elements([n * c for n, c in zip(shape, counts, strict=True)], x.itemsize)
        return np.tile(x, counts)
    y = layer.reshape(x, shape)
    return y if set(counts) <= {1} else layer.add("tile", y, repeats=counts)


def gathered(layer: ImportedLayer, x: Operand, indices: Operand, axis: int) -> Operand:
    """Gathers elements along an axis; `indices` may have any shape."""
    axis = layer.axis(axis, len(x.shape))
    if isinstance(x, np.ndarray) and isinstance(indices, np.ndarray):
        shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        layer.check_elements(shape, x.itemsize)
        return x.take(indices, axis)
    return layer.add("gather", layer.value(x), layer.value(indices), axis=axis)


def flat_indices(layer: ImportedLayer, indices: Array, shape: Sequence[int]) -> Array:
    """The places in a flattened tensor of `shape` for indices [..., len(shape)]."""
    sizes = np.array(shape, np.int64)
    if np.any((indices < -sizes) | (indices >= sizes)):
        raise layer.invalid(f"an index is outside of {list(shape)}")
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    places: Array = np.where(indices < 0, indices + sizes, indices) @ np.array(strides, np.int64)
    return places


def gathered_slices(layer: ImportedLayer, x: Operand, indices: Array) -> Operand:
    """Gathers elements or slices of `x` at constant indices [..., axes]."""
    depth = indices.shape[-1] if indices.ndim else 0
    if not 1 <= depth <= len(x.shape):
        raise layer.invalid(f"its indices are {list(indices.shape)} for {len(x.shape)} dimensions")
    rows = layer.reshape(x, (math.prod(x.shape[:depth]), *x.shape[depth:]))
    return gathered(layer, rows, flat_indices(layer, indices, x.shape[:depth]), 0)


def cast(layer: ImportedLayer, x: Operand, code: str | np.dtype[Any]) -> Operand:
    """Converts `x` to another element type, given by numpy's name."""
    if isinstance(x, np.ndarray):
        return x.astype(code)
    to = next((name for name, own in NUMPY_DTYPES.items() if np.dtype(own) == np.dtype(code)), None)
    if to is None:
        raise layer.unsupported(f"it casts to {np.dtype(code).name}")
    return x if x.dtype == to else layer.add("cast", x, to=to)


def bit_cast(layer: ImportedLayer, x: Operand, code: str | np.dtype[Any]) -> Operand:
    """The bits of `x` as another element type of the same size, given by numpy's name. The engine
    has that between integers alone, whose casts keep all bits.
    """
    before = x.dtype if isinstance(x, np.ndarray) else np.dtype(NUMPY_DTYPES[x.dtype])
    after = np.dtype(code)
    if before.itemsize != after.itemsize:
        raise layer.unsupported(f"it makes {after.name} of the bits of {before.name}")
    if isinstance(x, np.ndarray):
        return np.ascontiguousarray(x).view(after).reshape(x.shape)
    if before != after and not (before.kind in "iub" and after.kind in "iu"):
        raise layer.unsupported(f"it makes {after.name} of the bits of {before.name}")
    return cast(layer, x, after)


def pixel_unshuffle(layer: ImportedLayer, x: Value, block: int) -> Value:
    """Moves the pixels of each block into channels, grouped by input channel."""
    if block < 1 or any(size % block for size in x.shape[2:]):
        raise layer.invalid(f"blocks of {block} do not divide {list(x.shape[2:])}")
    y = layer.add("space_to_depth", x, block_size=block)
    return layer.add("channel_shuffle", y, group=block * block)


def reorg(layer: ImportedLayer, x: Value, stride: int, *, reverse: bool) -> Value:
    """Darknet's reorg layer (YOLOv2), which moves pixels into channels.

    Darknet reads the memory of [c, h, w] as an image [c / stride^2, h * stride, w * stride], moves
    the pixels of its blocks into channels, and reads the result as
    [c * stride^2, h / stride, w / stride].
    """
    n, c, h, w = x.shape
    area = stride * stride
    if stride < 1 or c % area or (not reverse and (h % stride or w % stride)):
        raise layer.unsupported(f"stride {stride} does not divide {list(x.shape)}")
    wide = (n, c // area, h * stride, w * stride)
    if reverse:
        return layer.reshape(layer.add("depth_to_space", x, block_size=stride), wide)
    y = layer.add("space_to_depth", layer.reshape(x, wide), block_size=stride)
    return layer.reshape(y, (n, c * area, h // stride, w // stride))
