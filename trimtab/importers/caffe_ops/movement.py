"""Layers that move, cut and join data."""

from __future__ import annotations

import math
from itertools import pairwise

from trimtab.importers._layers import Values
from trimtab.importers._reorg import reorg_shapes
from trimtab.importers.caffe_ops.layer import Layer, handles


@handles("Dropout")
def identity(layer: Layer) -> Values:
    """What acts in training only."""
    return layer.x()


@handles("Split")
def split(layer: Layer) -> Values:
    """The same operand under several names."""
    return [layer.x()] * len(layer.tops)


@handles("Concat")
def concat(layer: Layer) -> Values:
    """Along the channels unless an axis is given."""
    param = layer.param("concat_param")
    axis = layer.axis(param.integer("axis", param.integer("concat_dim", 1)))
    if len(layer.bottoms) < 2:
        return layer.x()
    return layer.add("concat", *layer.bottoms, axis=axis)


@handles("Slice")
def slice_(layer: Layer) -> Values:
    """At the given points, or into equal parts."""
    param = layer.param("slice_param")
    axis = layer.axis(param.integer("axis", param.integer("slice_dim", 1)))
    size, count = layer.x().shape[axis], len(layer.tops)
    points = param.integers("slice_point")
    if not points and count > 1:
        if size % count:
            raise layer.invalid(f"{size} cannot be cut into {count} equal parts")
        points = list(range(size // count, size, size // count))
    if len(points) != count - 1:
        raise layer.invalid(f"{len(points)} points for {count} tops")
    if count == 1:
        return layer.x()
    bounds = [0, *points, size]
    sizes = [end - begin for begin, end in pairwise(bounds)]
    return layer.add_many("split", layer.x(), outputs=count, axis=axis, sizes=sizes)


@handles("Crop")
def crop(layer: Layer) -> Values:
    """To the size of a second operand, from the axis on."""
    param = layer.param("crop_param")
    x, wanted = layer.x(), layer.x(1).shape
    axis = layer.axis(param.integer("axis", 2))
    axes = tuple(range(axis, len(x.shape)))
    offsets = param.integers("offset") or [0]
    if len(offsets) == 1:
        offsets *= len(axes)
    if len(offsets) != len(axes) or len(wanted) != len(x.shape):
        raise layer.invalid(f"{len(offsets)} offsets for {len(axes)} dimensions")
    ends = [offset + wanted[i] for i, offset in zip(axes, offsets, strict=True)]
    if min(offsets) < 0 or any(end > x.shape[i] for i, end in zip(axes, ends, strict=True)):
        raise layer.invalid(f"{list(wanted)} at {offsets} is not inside {list(x.shape)}")
    return layer.add("slice", x, starts=offsets, ends=ends, axes=axes, steps=(1,) * len(axes))


@handles("Flatten")
def flatten(layer: Layer) -> Values:
    """Dimensions from axis to end_axis become one."""
    param = layer.param("flatten_param")
    shape = layer.x().shape
    first, last = layer.axis(param.integer("axis", 1)), layer.axis(param.integer("end_axis", -1))
    if last < first:
        raise layer.invalid(f"its axes {first} to {last} are none")
    middle = math.prod(shape[first : last + 1])
    return layer.reshape(layer.x(), (*shape[:first], middle, *shape[last + 1 :]))


@handles("Reshape")
def reshape(layer: Layer) -> Values:
    """0 copies a dimension, -1 takes what is left; dimensions before the axis stay."""
    param = layer.param("reshape_param")
    dims = param.message("shape").integers("dim")
    x = layer.x()
    rank = len(x.shape)
    axis, count = param.integer("axis", 0), param.integer("num_axes", -1)
    first = axis + rank + 1 if axis < 0 else axis
    last = rank if count == -1 else first + count
    if not 0 <= first <= last <= rank:
        raise layer.invalid(f"axis {axis} and num_axes {count} do not fit {list(x.shape)}")
    if any(n == 0 and first + i >= rank for i, n in enumerate(dims)) or dims.count(-1) > 1:
        raise layer.invalid(f"{list(x.shape)} cannot be reshaped to {dims}")
    middle = [x.shape[first + i] if n == 0 else n for i, n in enumerate(dims)]
    shape = [*x.shape[:first], *middle, *x.shape[last:]]
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        shape[shape.index(-1)] = math.prod(x.shape) // known if known > 0 else 0
    if math.prod(shape) != math.prod(x.shape) or min(shape, default=1) < 1:
        raise layer.invalid(f"{list(x.shape)} cannot be reshaped to {dims}")
    return layer.reshape(x, shape)


@handles("Permute")
def permute(layer: Layer) -> Values:
    """Dimensions that are not named follow in their order."""
    named = layer.param("permute_param").integers("order")
    rank = len(layer.x().shape)
    order = [*named, *(i for i in range(rank) if i not in named)]
    return layer.add("transpose", layer.x(), permutation=order)


@handles("Tile")
def tile(layer: Layer) -> Values:
    """Repeats along one axis."""
    param = layer.param("tile_param")
    repeats = [1] * len(layer.x().shape)
    repeats[layer.axis(param.integer("axis", 1))] = param.integer("tiles", 1)
    return layer.add("tile", layer.x(), repeats=repeats)


@handles("ShuffleChannel")
def shuffle_channel(layer: Layer) -> Values:
    """Interleaves groups of channels (ShuffleNet)."""
    group = layer.param("shuffle_channel_param").integer("group", 1)
    return layer.add("channel_shuffle", layer.image(), group=group)


@handles("Reorg")
def reorg(layer: Layer) -> Values:
    """Pixels of blocks become channels, as Darknet orders them (YOLOv2)."""
    param = layer.param("reorg_param")
    stride = param.integer("stride", 2)
    x = layer.image()
    op = "depth_to_space" if param.boolean("reverse", False) else "space_to_depth"
    if stride < 1:
        raise layer.invalid(f"its stride is {stride}")
    views = reorg_shapes(x.shape, stride, op)
    if views is None:
        raise layer.unsupported(f"stride {stride} does not divide {list(x.shape)}")
    moved = layer.add(op, layer.reshape(x, views[0]), block_size=stride)
    return layer.reshape(moved, views[1])
