"""Layers that move, cut and join data."""

from __future__ import annotations

from itertools import pairwise

from trimtab.importers._layer import Results
from trimtab.importers.caffe_ops.layer import CaffeLayer, handles
from trimtab.importers.vocabulary import movement


@handles("Dropout")
def identity(layer: CaffeLayer) -> Results:
    """What acts in training only."""
    return layer.x()


@handles("Split")
def split(layer: CaffeLayer) -> Results:
    """The same operand under several names."""
    return (layer.x(),) * len(layer.outputs)


@handles("Concat")
def concat(layer: CaffeLayer) -> Results:
    """Along the channels unless an axis is given."""
    param = layer.param("concat_param")
    axis = layer.axis(param.integer("axis", param.integer("concat_dim", 1)))
    return movement.concat(layer, layer.xs(), axis)


@handles("Slice")
def slice_(layer: CaffeLayer) -> Results:
    """At the given points, or into equal parts."""
    param = layer.param("slice_param")
    axis = layer.axis(param.integer("axis", param.integer("slice_dim", 1)))
    size, count = layer.x().shape[axis], len(layer.outputs)
    points = param.integers("slice_point")
    if points and len(points) != count - 1:
        raise layer.invalid(f"{len(points)} points for {count} tops")
    sizes = [end - begin for begin, end in pairwise([0, *points, size])]
    if not points:
        sizes = movement.equal_parts(layer, size, count)
    return movement.split(layer, layer.x(), axis, sizes)


@handles("Crop")
def crop(layer: CaffeLayer) -> Results:
    """To the size of a second operand, from the axis on."""
    param = layer.param("crop_param")
    x, wanted = layer.x(), layer.x(1).shape
    axes = range(layer.axis(param.integer("axis", 2)), len(x.shape))
    offsets = param.integers("offset") or [0]
    if len(offsets) == 1:
        offsets *= len(axes)
    if len(offsets) != len(axes) or len(wanted) != len(x.shape):
        raise layer.invalid(f"{len(offsets)} offsets for {len(axes)} dimensions")
    ends = [offset + wanted[i] for i, offset in zip(axes, offsets, strict=True)]
    if min(offsets) < 0 or any(end > x.shape[i] for i, end in zip(axes, ends, strict=True)):
        raise layer.invalid(f"{list(wanted)} at {offsets} is not inside {list(x.shape)}")
    return movement.sliced(layer, x, zip(axes, offsets, ends, [1] * len(axes), strict=True))


@handles("Flatten")
def flatten(layer: CaffeLayer) -> Results:
    """Dimensions from axis to end_axis become one."""
    param = layer.param("flatten_param")
    first, last = param.integer("axis", 1), param.integer("end_axis", -1)
    return movement.flattened(layer, layer.x(), first, last)


@handles("Reshape")
def reshape(layer: CaffeLayer) -> Results:
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
    before, behind = x.shape[:first], x.shape[last:]
    return layer.reshape(x, (*movement.copied(layer, x, (*before, *dims)), *behind))


@handles("Permute")
def permute(layer: CaffeLayer) -> Results:
    """Dimensions that are not named follow in their order."""
    named = layer.param("permute_param").integers("order")
    rest = (i for i in range(len(layer.x().shape)) if i not in named)
    return layer.transpose(layer.x(), (*named, *rest))


@handles("Tile")
def tile(layer: CaffeLayer) -> Results:
    """Repeats along one axis."""
    param = layer.param("tile_param")
    repeats = [1] * len(layer.x().shape)
    repeats[layer.axis(param.integer("axis", 1))] = param.integer("tiles", 1)
    return movement.tiled(layer, layer.x(), repeats)


@handles("ShuffleChannel")
def shuffle_channel(layer: CaffeLayer) -> Results:
    """Interleaves groups of channels (ShuffleNet)."""
    group = layer.param("shuffle_channel_param").integer("group", 1)
    return layer.add("channel_shuffle", layer.image(), group=group)


@handles("Reorg")
def reorg(layer: CaffeLayer) -> Results:
    """Pixels of blocks become channels, as Darknet orders them (YOLOv2)."""
    param = layer.param("reorg_param")
    stride, reverse = param.integer("stride", 2), param.boolean("reverse", False)
    if stride < 1:
        raise layer.invalid(f"its stride is {stride}")
    return movement.reorg(layer, layer.image(), stride, reverse=reverse)
