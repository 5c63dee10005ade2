"""Elements that move, are cut, joined or repeated: of tensors, and of what is known already."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.program.program import NUMPY_DTYPES

# Bounds mean "to the very end" long before they need 64 bits.
FAR = 2**31 - 1

Cut = tuple[int, int, int, int]
"""Dimension, and the start, end and step of a slice of it, as Python has them."""

# What fills a border, by the names that formats have for it.
PAD_MODES = {
    "constant": "constant",
    "zeros": "constant",
    "reflect": "reflect",
    "edge": "edge",
    "replicate": "edge",
    "wrap": "wrap",
    "circular": "wrap",
}

# How a tensor [n, h, w, c] becomes an image [n, c, h, w], and the reverse.
TO_CHANNELS_FIRST, TO_CHANNELS_LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def without(shape: Sequence[int], axes: Collection[int]) -> tuple[int, ...]:
    """`shape` without the dimensions `axes`."""
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def sliced(layer: ImportedLayer, x: Operand, cuts: Iterable[Cut]) -> Operand:
    """`x` with some dimensions cut."""
    places = {}
    for axis, start, end, step in cuts:
        if step == 0 or axis in places:
            raise layer.invalid("its step is 0" if step == 0 else f"axis {axis} is given twice")
        places[axis] = slice(start, end, step)
    if isinstance(x, np.ndarray):
        return x[tuple(places.get(axis, slice(None)) for axis in range(x.ndim))]
    rows = []
    for axis, place in sorted(places.items()):
        start, end, step = place.indices(x.shape[axis])
        count = len(range(start, end, step))
        if not count:
            # Out of range, which the engine judges.
            rows.append((axis, *(_near(v) for v in (place.start, place.stop)), step))
        elif count < x.shape[axis] or step < 0:
            rows.append((axis, start, -FAR if end < 0 else end, step))
    if not rows:
        return x
    axes, starts, ends, steps = zip(*rows, strict=True)
    return layer.add("slice", x, starts=starts, ends=ends, axes=axes, steps=steps)


def _near(bound: int) -> int:
    return max(-FAR, min(FAR, bound))


def part(layer: ImportedLayer, x: Value, axis: int, begin: int, end: int) -> Value:
    """A part of one dimension."""
    return layer.value(sliced(layer, x, [(axis, begin, end, 1)]))


def split(layer: ImportedLayer, x: Value, axis: int, sizes: Sequence[int]) -> tuple[Value, ...]:
    """Parts of the given sizes, of which one may be -1: what the others leave."""
    sizes = list(sizes)
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(sizes) - 1
    if len(sizes) == 1:
        return (x,)
    return layer.add_many("split", x, outputs=len(sizes), axis=axis, sizes=tuple(sizes))


def equal_parts(layer: ImportedLayer, size: int, count: int) -> list[int]:
    """`size` as so many equal sizes."""
    if count < 1 or size % count:
        raise layer.invalid(f"{size} cannot be cut into {count} equal parts")
    return [size // count] * count


def concat(layer: ImportedLayer, operands: Sequence[Operand], axis: int) -> Operand:
    """Operands behind each other along a dimension."""
    if known := _all_known(operands):
        return np.concatenate(known, axis)
    values = [layer.value(x) for x in operands]
    return values[0] if len(values) == 1 else layer.add("concat", *values, axis=axis)


def stack(layer: ImportedLayer, operands: Sequence[Operand], axis: int) -> Operand:
    """Operands behind each other along a new dimension; a negative one counts in the result."""
    axis = layer.axis(axis, len(operands[0].shape) + 1 if operands else 0)
    if known := _all_known(operands):
        return np.stack(known, axis)
    return concat(layer, [unsqueezed(layer, x, axis) for x in operands], axis)


def unstack(layer: ImportedLayer, x: Value, axis: int) -> tuple[Value, ...]:
    """The slices along a dimension, without it."""
    axis = layer.axis(axis, len(x.shape))
    shape = without(x.shape, [axis]) or (1,)
    parts = split(layer, x, axis, (1,) * x.shape[axis])
    return tuple(layer.reshape(y, shape) for y in parts)


def _all_known(operands: Sequence[Operand]) -> list[Array]:
    known = [x for x in operands if isinstance(x, np.ndarray)]
    return known if len(known) == len(operands) else []


def unsqueezed(layer: ImportedLayer, x: Operand, *axes: int) -> Operand:
    """`x` with new dimensions of 1; axes count in the result."""
    shape = list(x.shape)
    for axis in sorted(layer.axis(axis, len(shape) + len(axes)) for axis in axes):
        shape.insert(axis, 1)
    return layer.reshape(x, shape)


def squeezed(layer: ImportedLayer, x: Operand, axes: Iterable[int] = ()) -> Operand:
    """`x` without the given dimensions, or all, as far as they are 1."""
    chosen = {layer.axis(axis, len(x.shape)) for axis in axes} or set(range(len(x.shape)))
    return layer.reshape(x, without(x.shape, {axis for axis in chosen if x.shape[axis] == 1}))


def flattened(layer: ImportedLayer, x: Operand, first: int, last: int = -1) -> Operand:
    """`x` with the dimensions from `first` to `last` as one."""
    first, last = (layer.axis(axis, len(x.shape)) for axis in (first, last))
    if last < first:
        raise layer.invalid(f"its axes {first} to {last} are none")
    middle = math.prod(x.shape[first : last + 1])
    return layer.reshape(x, (*x.shape[:first], middle, *x.shape[last + 1 :]))


def matrix(layer: ImportedLayer, x: Operand, cut: int) -> Operand:
    """`x` as a matrix, whose columns are the dimensions from `cut` on."""
    if not 0 <= cut <= len(x.shape):
        raise layer.invalid(f"axis {cut} is outside {len(x.shape)} dimensions")
    return layer.reshape(x, (math.prod(x.shape[:cut]), math.prod(x.shape[cut:])))


def copied(layer: ImportedLayer, x: Operand, wanted: Sequence[int]) -> list[int]:
    """`wanted`, in which 0 stands for the dimension of `x` at that place."""
    if any(n == 0 and i >= len(x.shape) for i, n in enumerate(wanted)):
        raise layer.invalid(f"{list(wanted)} copies a dimension that {list(x.shape)} lacks")
    return [x.shape[i] if n == 0 else n for i, n in enumerate(wanted)]


def padded(
    layer: ImportedLayer,
    x: Value,
    amounts: Mapping[int, Sequence[int]],
    mode: str = "constant",
    value: float = 0.0,
) -> Value:
    """`x` with a border: elements before and behind, by dimension; negative amounts crop."""
    if mode not in PAD_MODES:
        raise layer.unsupported(f"its mode is {mode}")
    pads = [0] * (2 * len(x.shape))
    for axis, (begin, end) in amounts.items():
        pads[axis], pads[len(x.shape) + axis] = begin, end
    if not any(pads):
        return x
    return layer.add("pad", x, pads=pads, mode=PAD_MODES[mode], value=value)


def expanded(layer: ImportedLayer, x: Operand, wanted: Sequence[int]) -> Operand:
    """`x` broadcast to a shape, in which -1 keeps a dimension."""
    lift = len(wanted) - len(x.shape)
    if lift < 0:
        raise layer.invalid(f"{list(x.shape)} cannot be expanded to {list(wanted)}")
    kept = (x.shape[i - lift] if n == -1 and i >= lift else n for i, n in enumerate(wanted))
    try:
        shape = np.broadcast_shapes(x.shape, tuple(kept))
    except ValueError:
        raise layer.invalid(f"{list(x.shape)} cannot be expanded to {list(wanted)}") from None
    if isinstance(x, np.ndarray):
        layer.check_elements(shape)
        return np.ascontiguousarray(np.broadcast_to(x, shape))
    return x if shape == x.shape else layer.add("expand", x, shape=shape)


def tiled(layer: ImportedLayer, x: Operand, counts: Sequence[int]) -> Operand:
    """`x` repeated along its dimensions; counts and dimensions meet at the end."""
    rank = max(len(counts), len(x.shape))
    counts = (1,) * (rank - len(counts)) + tuple(counts)
    shape = (1,) * (rank - len(x.shape)) + tuple(x.shape)
    if isinstance(x, np.ndarray):
        layer.check_elements([n * c for n, c in zip(shape, counts, strict=True)])
        return np.tile(x, counts)
    y = layer.reshape(x, shape)
    return y if set(counts) <= {1} else layer.add("tile", y, repeats=counts)


def gathered(layer: ImportedLayer, x: Operand, indices: Operand, axis: int) -> Operand:
    """Elements of a dimension at indices of any shape."""
    axis = layer.axis(axis, len(x.shape))
    if isinstance(x, np.ndarray) and isinstance(indices, np.ndarray):
        return x.take(indices, axis)
    return layer.add("gather", layer.value(x), layer.value(indices), axis=axis)


def cast(layer: ImportedLayer, x: Operand, code: str | np.dtype[Any]) -> Operand:
    """`x` in another element type of numpy."""
    if isinstance(x, np.ndarray):
        return x.astype(code)
    to = next((name for name, own in NUMPY_DTYPES.items() if np.dtype(own) == np.dtype(code)), None)
    if to is None:
        raise layer.unsupported(f"it casts to {np.dtype(code).name}")
    return x if x.dtype == to else layer.add("cast", x, to=to)


def pixel_unshuffle(layer: ImportedLayer, x: Value, block: int) -> Value:
    """Pixels of a block become channels, next to those of the same channel."""
    if block < 1 or any(size % block for size in x.shape[2:]):
        raise layer.invalid(f"blocks of {block} do not divide {list(x.shape[2:])}")
    y = layer.add("space_to_depth", x, block_size=block)
    return layer.add("channel_shuffle", y, group=block * block)


def reorg(layer: ImportedLayer, x: Value, stride: int, *, reverse: bool) -> Value:
    """Darknet's reorganization of pixels into channels (YOLOv2).

    It moves the pixels of an image [c / stride^2, h * stride, w * stride] that lies in the memory
    of [c, h, w], and calls the result [c * stride^2, h / stride, w / stride].
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
