"""Layers that join, cut and move what others computed."""

from __future__ import annotations

import math

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.darknet_ops.activation import activate
from trimtab.importers.darknet_ops.layer import DarknetLayer, handles
from trimtab.importers.vocabulary import movement


@handles("dropout", "noise", "empty", "silence")
def identity(layer: DarknetLayer) -> Results:
    """What acts in training only."""
    return layer.image()


@handles("route")
def route(layer: DarknetLayer) -> Results:
    """Joins channels of other layers, or of each a part when it has groups."""
    groups, part = layer.positive("groups", 1), layer.options.integer("group_id", 0)
    operands = layer.listed_operands()
    if groups > 1:
        if not 0 <= part < groups or any(x.shape[1] % groups for x in operands):
            raise layer.invalid(f"there is no part {part} of {groups}")
        operands = [_share(layer, x, part, x.shape[1] // groups) for x in operands]
    return movement.concat(layer, operands, axis=1)


def _share(layer: DarknetLayer, x: Value, part: int, channels: int) -> Value:
    return movement.part(layer, x, 1, part * channels, (part + 1) * channels)


@handles("shortcut")
def shortcut(layer: DarknetLayer) -> Results:
    """Adds other layers; channels that only one has are cut off, or count as 0."""
    layer.reject("weights_type", "weights_normalization")
    y = layer.image()
    for side in layer.listed_operands():
        y = layer.add("add", y, _fitted(layer, side, y.shape))
    return activate(layer, y, "linear")


def _fitted(layer: DarknetLayer, x: Value, shape: tuple[int, ...]) -> Value:
    """`x` with the channels and pixels of `shape`, as far as Darknet can do that."""
    steps = [have // want for have, want in zip(x.shape[2:], shape[2:], strict=True)]
    if x.shape[2:] != shape[2:]:
        if steps[0] < 1 or steps[0] != steps[1]:
            raise layer.unsupported(f"it adds {list(x.shape)} to {list(shape)}")
        cuts = [(axis, 0, shape[axis] * steps[0], steps[0]) for axis in (2, 3)]
        x = layer.value(movement.sliced(layer, x, cuts))
    if shape[1] < x.shape[1]:
        return movement.part(layer, x, 1, 0, shape[1])
    return movement.padded(layer, x, {1: (0, shape[1] - x.shape[1])})


@handles("scale_channels")
def scale_channels(layer: DarknetLayer) -> Results:
    """The other layer times this one's factor per channel, or per pixel (scale_wh)."""
    (side,) = layer.listed_operands()
    return activate(layer, layer.add("mul", side, layer.image()), "linear")


@handles("sam")
def sam(layer: DarknetLayer) -> Results:
    """The other layer times this one, element by element."""
    (side,) = layer.listed_operands()
    if side.shape != layer.image().shape:
        raise layer.invalid(f"it multiplies {list(side.shape)} by {list(layer.image().shape)}")
    return activate(layer, layer.add("mul", side, layer.image()), "linear")


@handles("reorg")
def reorg(layer: DarknetLayer) -> Results:
    """Pixels of blocks become channels (YOLOv2), or with `reverse` the other way."""
    layer.reject("flatten", "extra")
    stride = layer.positive("stride", 1)
    reverse = bool(layer.options.integer("reverse", 0))
    return movement.reorg(layer, layer.image(), stride, reverse=reverse)


@handles("crop")
def crop(layer: DarknetLayer) -> Results:
    """The middle of the image, stretched from [0, 1] to [-1, 1] unless `noadjust`."""
    height, width = layer.positive("crop_height", 1), layer.positive("crop_width", 1)
    x = layer.image()
    top, left = (x.shape[2] - height) // 2, (x.shape[3] - width) // 2
    if top < 0 or left < 0:
        raise layer.invalid(f"{height} x {width} is not inside {list(x.shape)}")
    cuts = [(2, top, top + height, 1), (3, left, left + width, 1)]
    y = layer.value(movement.sliced(layer, x, cuts))
    return y if layer.options.integer("noadjust", 0) else layer.scale_and_shift(y, 2.0, -1.0)


@handles("softmax", "soft")
def softmax(layer: DarknetLayer) -> Results:
    """Over all of an image, in groups; `spatial`: over the channels of every pixel."""
    layer.reject("tree")
    groups = layer.positive("groups", 1)
    temperature = layer.options.real("temperature", 1.0)
    if temperature == 0.0:
        raise layer.invalid("its temperature is 0")
    x = layer.scaled(layer.image(), 1.0 / temperature)
    if layer.options.integer("spatial", 0):
        return layer.add("softmax", x, axis=1)
    n, count = x.shape[0], math.prod(x.shape[1:])
    if count % groups:
        raise layer.invalid(f"{groups} groups do not divide {count} values")
    rows = layer.reshape(x, (n, groups, count // groups))
    return layer.reshape(layer.add("softmax", rows, axis=2), x.shape)
