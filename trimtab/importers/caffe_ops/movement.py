"""Data movement: reshape, slice, concat and the like."""

from __future__ import annotations

from itertools import pairwise

from trimtab.importers._layer import Results
from trimtab.importers.caffe_ops.contract import ANY, takes
from trimtab.importers.caffe_ops.layer import CaffeLayer, handles
from trimtab.importers.vocabulary import movement


@handles("Dropout")
def dropout(layer: CaffeLayer) -> Results:
    """The input itself; for training, an operator whose result gets the zeros."""
    ratio = layer.param.real("dropout_ratio", 0.5)
    if not layer.phase.is_training:
        return layer.x()
    layer.phase.dropout[layer.name] = ratio
    return layer.add("reshape", layer.x(), shape=layer.x().shape)


@handles("Split")
@takes(tops=ANY)
def split(layer: CaffeLayer) -> Results:
    """Several names for the same operand."""
    return (layer.x(),) * len(layer.outputs)


@handles("Concat")
@takes(ANY)
def concat(layer: CaffeLayer) -> Results:
    """Concatenation along an axis, by default the channels."""
    param = layer.param
    axis = layer.axis(param.integer("axis", param.integer("concat_dim", 1)))
    return movement.concat(layer, layer.xs(), axis)


@handles("Slice")
@takes(tops=ANY)
def slice_(layer: CaffeLayer) -> Results:
    """Splits at the given points, or into equal parts."""
    param = layer.param
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
@takes((2, 2))
def crop(layer: CaffeLayer) -> Results:
    """Crops to the size of a second operand, from the axis on."""
    param = layer.param
    x, target = layer.x(), layer.x(1).shape
    axes = range(layer.axis(param.integer("axis", 2)), len(x.shape))
    offsets = param.integers("offset") or [0]
    if len(offsets) == 1:
        offsets *= len(axes)
    if len(offsets) != len(axes) or len(target) != len(x.shape):
        raise layer.invalid(f"{len(offsets)} offsets for {len(axes)} dimensions")
    ends = [offset + target[i] for i, offset in zip(axes, offsets, strict=True)]
    if min(offsets) < 0 or any(end > x.shape[i] for i, end in zip(axes, ends, strict=True)):
        raise layer.invalid(f"{list(target)} at {offsets} is not inside {list(x.shape)}")
    return movement.sliced(layer, x, zip(axes, offsets, ends, [1] * len(axes), strict=True))


@handles("Flatten")
@takes(in_place=False)
def flatten(layer: CaffeLayer) -> Results:
    """Merges the axes from axis to end_axis."""
    param = layer.param
    first, last = param.integer("axis", 1), param.integer("end_axis", -1)
    return movement.flattened(layer, layer.x(), first, last)


@handles("Reshape")
@takes(in_place=False)
def reshape(layer: CaffeLayer) -> Results:
    """0 copies a dimension, -1 takes the remaining elements; the axes before `axis` stay."""
    param = layer.param
    dims = param.message("shape").integers("dim")
    x = layer.x()
    rank = len(x.shape)
    axis, count = param.integer("axis", 0), param.integer("num_axes", -1)
    first = axis + rank + 1 if axis < 0 else axis
    last = rank if count == -1 else first + count
    if not 0 <= first <= last <= rank:
        raise layer.invalid(f"axis {axis} and num_axes {count} do not fit {list(x.shape)}")
    before, behind = x.shape[:first], x.shape[last:]
    return layer.reshape(x, (*movement.resolve_zeros(layer, x, (*before, *dims)), *behind))


@handles("Permute")
def permute(layer: CaffeLayer) -> Results:
    """Permutes the axes; unlisted axes follow in their order."""
    order = layer.param.integers("order")
    unlisted = (i for i in range(len(layer.x().shape)) if i not in order)
    return layer.transpose(layer.x(), (*order, *unlisted))


@handles("BatchReindex")
@takes((2, 2))
def batch_reindex(layer: CaffeLayer) -> Results:
    """The images of a batch at the indices [count] of a second operand."""
    indices = layer.x(1)
    if len(indices.shape) != 1:
        raise layer.invalid(f"its indices are {list(indices.shape)}, not a vector")
    return movement.gathered(layer, layer.x(), movement.cast(layer, indices, "int64"), 0)


@handles("Embed")
def embed(layer: CaffeLayer) -> Results:
    """The row of learned values [count, values] at each index, with optional offsets."""
    param = layer.param
    count, values = param.integer("input_dim", 0), param.integer("num_output", 0)
    rows = layer.constant(layer.blob(0, (count, values), "weights"), "weight")
    y = movement.gathered(layer, rows, movement.cast(layer, layer.x(), "int64"), 0)
    if not param.boolean("bias_term", True):
        return y
    offset = layer.constant(layer.blob(1, (values,), "bias"), "bias")
    return layer.add("add", layer.value(y), offset)


@handles("Parameter")
@takes((0, 0))
def parameter(layer: CaffeLayer) -> Results:
    """Learned values without an operand."""
    shape = layer.param.message("shape").integers("dim")
    return layer.constant(layer.blob(0, shape, "values"), "values")


@handles("Tile")
def tile(layer: CaffeLayer) -> Results:
    """Repeats the input along one axis."""
    param = layer.param
    repeats = [1] * len(layer.x().shape)
    repeats[layer.axis(param.integer("axis", 1))] = param.integer("tiles", 1)
    return movement.tiled(layer, layer.x(), repeats)


@handles("ShuffleChannel")
def shuffle_channel(layer: CaffeLayer) -> Results:
    """Interleaves groups of channels (ShuffleNet)."""
    group = layer.param.integer("group", 1)
    return layer.add("channel_shuffle", layer.image(), group=group)


@handles("Reorg")
def reorg(layer: CaffeLayer) -> Results:
    """Moves the pixels of each block into channels, in Darknet's order (YOLOv2)."""
    param = layer.param
    stride, reverse = param.integer("stride", 2), param.boolean("reverse", False)
    if stride < 1:
        raise layer.invalid(f"its stride is {stride}, it must be positive")
    return movement.reorg(layer, layer.image(), stride, reverse=reverse)
