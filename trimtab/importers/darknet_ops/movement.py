"""Layers that join, cut and move what others computed."""

from __future__ import annotations

import math

from trimtab.importers._layers import Value
from trimtab.importers._reorg import reorg_shapes
from trimtab.importers.darknet_ops.activation import activate
from trimtab.importers.darknet_ops.layer import Layer, handles


@handles("dropout", "noise", "empty", "silence")
def identity(layer: Layer) -> Value:
    """What acts in training only."""
    return layer.x


@handles("route")
def route(layer: Layer) -> Value:
    """Joins channels of other layers, or of each a part when it has groups."""
    groups, part = layer.positive("groups", 1), layer.options.integer("group_id", 0)
    operands = layer.sides()
    if groups > 1:
        if not 0 <= part < groups or any(x.shape[1] % groups for x in operands):
            raise layer.invalid(f"there is no part {part} of {groups}")
        operands = [_channels(layer, x, part, x.shape[1] // groups) for x in operands]
    return operands[0] if len(operands) == 1 else layer.add("concat", *operands, axis=1)


def _channels(layer: Layer, x: Value, part: int, count: int) -> Value:
    begin = part * count
    return layer.add("slice", x, starts=(begin,), ends=(begin + count,), axes=(1,), steps=(1,))


@handles("shortcut")
def shortcut(layer: Layer) -> Value:
    """Adds other layers; channels that only one has are cut off, or count as 0."""
    layer.refuse("weights_type", "weights_normalization")
    y = layer.x
    for side in layer.sides():
        y = layer.add("add", y, _fitted(layer, side, y.shape))
    return activate(layer, y, "linear")


def _fitted(layer: Layer, x: Value, shape: tuple[int, ...]) -> Value:
    """`x` with the channels and pixels of `shape`, as far as Darknet can do that."""
    steps = [have // want for have, want in zip(x.shape[2:], shape[2:], strict=True)]
    if x.shape[2:] != shape[2:]:
        if steps[0] < 1 or steps[0] != steps[1]:
            raise layer.unsupported(f"it adds {list(x.shape)} to {list(shape)}")
        ends = [step * want for step, want in zip(steps, shape[2:], strict=True)]
        x = layer.add("slice", x, starts=(0, 0), ends=ends, axes=(2, 3), steps=steps)
    missing = shape[1] - x.shape[1]
    if missing > 0:
        return layer.add("pad", x, pads=(0, 0, 0, 0, 0, missing, 0, 0), mode="constant", value=0.0)
    return _channels(layer, x, 0, shape[1]) if missing < 0 else x


@handles("scale_channels")
def scale_channels(layer: Layer) -> Value:
    """The other layer times this one's factor per channel, or per pixel (scale_wh)."""
    (side,) = layer.sides()
    return activate(layer, layer.add("mul", side, layer.x), "linear")


@handles("sam")
def sam(layer: Layer) -> Value:
    """The other layer times this one, element by element."""
    (side,) = layer.sides()
    if side.shape != layer.x.shape:
        raise layer.invalid(f"it multiplies {list(side.shape)} by {list(layer.x.shape)}")
    return activate(layer, layer.add("mul", side, layer.x), "linear")


@handles("reorg")
def reorg(layer: Layer) -> Value:
    """Pixels of blocks become channels (YOLOv2), or with `reverse` the other way."""
    layer.refuse("flatten", "extra")
    stride = layer.positive("stride", 1)
    op = "depth_to_space" if layer.options.integer("reverse", 0) else "space_to_depth"
    views = reorg_shapes(layer.x.shape, stride, op)
    if views is None:
        raise layer.unsupported(f"stride {stride} does not divide {list(layer.x.shape)}")
    moved = layer.add(op, layer.reshape(layer.x, views[0]), block_size=stride)
    return layer.reshape(moved, views[1])


@handles("crop")
def crop(layer: Layer) -> Value:
    """The middle of the image, stretched from [0, 1] to [-1, 1] unless `noadjust`."""
    height, width = layer.positive("crop_height", 1), layer.positive("crop_width", 1)
    top, left = (layer.x.shape[2] - height) // 2, (layer.x.shape[3] - width) // 2
    if top < 0 or left < 0:
        raise layer.invalid(f"{height} x {width} is not inside {list(layer.x.shape)}")
    ends = (top + height, left + width)
    y = layer.add("slice", layer.x, starts=(top, left), ends=ends, axes=(2, 3), steps=(1, 1))
    if layer.options.integer("noadjust", 0):
        return y
    return layer.shifted(layer.scaled(y, 2.0), -1.0)


@handles("softmax", "soft")
def softmax(layer: Layer) -> Value:
    """Over all of an image, in groups; `spatial`: over the channels of every pixel."""
    layer.refuse("tree")
    groups = layer.positive("groups", 1)
    temperature = layer.options.real("temperature", 1.0)
    if temperature == 0.0:
        raise layer.invalid("its temperature is 0")
    x = layer.scaled(layer.x, 1.0 / temperature)
    if layer.options.integer("spatial", 0):
        return layer.add("softmax", x, axis=1)
    n, count = x.shape[0], math.prod(x.shape[1:])
    if count % groups:
        raise layer.invalid(f"{groups} groups do not divide {count} values")
    rows = layer.reshape(x, (n, groups, count // groups))
    return layer.reshape(layer.add("softmax", rows, axis=2), x.shape)
