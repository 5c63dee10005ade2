"""Layers that combine, crop and rearrange the outputs of others."""

from __future__ import annotations

import math

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.darknet_ops.activation import activate
from trimtab.importers.darknet_ops.layer import DarknetLayer, handles
from trimtab.importers.vocabulary import movement


@handles("dropout", "noise", "empty", "silence")
def identity(layer: DarknetLayer) -> Results:
    """The input itself; the layer acts in training only."""
    return layer.image()


@handles("route")
def route(layer: DarknetLayer) -> Results:
    """Concatenates the channels of other layers, or one group of the channels of each."""
    groups, group = layer.positive("groups", 1), layer.options.integer("group_id", 0)
    operands = layer.listed_operands()
    if groups > 1:
        if not 0 <= group < groups or any(x.shape[1] % groups for x in operands):
            raise layer.invalid(f"there is no group {group} of {groups}")
        operands = [_group(layer, x, group, x.shape[1] // groups) for x in operands]
    return movement.concat(layer, operands, axis=1)


def _group(layer: DarknetLayer, x: Value, group: int, channels: int) -> Value:
    return movement.axis_slice(layer, x, 1, group * channels, (group + 1) * channels)


@handles("shortcut")
def shortcut(layer: DarknetLayer) -> Results:
    """Adds other layers, whose channels are cropped or padded with 0."""
    layer.reject("weights_type", "weights_normalization")
    y = layer.image()
    for other in layer.listed_operands():
        y = layer.add("add", y, _fitted(layer, other, y.shape))
    return activate(layer, y, "linear")


def _fitted(layer: DarknetLayer, x: Value, shape: tuple[int, ...]) -> Value:
    """Subsamples, crops or pads `x` to `shape`, as Darknet does."""
    steps = [old // new for old, new in zip(x.shape[2:], shape[2:], strict=True)]
    if x.shape[2:] != shape[2:]:
        if steps[0] < 1 or steps[0] != steps[1]:
            raise layer.unsupported(f"it adds {list(x.shape)} to {list(shape)}")
        slices = [(axis, 0, shape[axis] * steps[0], steps[0]) for axis in (2, 3)]
        x = layer.value(movement.sliced(layer, x, slices))
    if shape[1] < x.shape[1]:
        return movement.axis_slice(layer, x, 1, 0, shape[1])
    return movement.padded(layer, x, {1: (0, shape[1] - x.shape[1])})


@handles("scale_channels")
def scale_channels(layer: DarknetLayer) -> Results:
    """Multiplies another layer by a factor per channel, or per pixel (scale_wh)."""
    (other,) = layer.listed_operands()
    return activate(layer, layer.add("mul", other, layer.image()), "linear")


@handles("sam")
def sam(layer: DarknetLayer) -> Results:
    """Multiplies two layers element by element."""
    (other,) = layer.listed_operands()
    if other.shape != layer.image().shape:
        raise layer.invalid(f"it multiplies {list(other.shape)} by {list(layer.image().shape)}")
    return activate(layer, layer.add("mul", other, layer.image()), "linear")


@handles("implicit_add", "implicit_mul")
def implicit(layer: DarknetLayer) -> Results:
    """Learned values [1, filters, atoms, 1] (YOLOR)."""
    shape = 1, layer.positive("filters", 1), layer.positive("atoms", 1), 1
    return layer.constant(layer.weights(shape, "weights"), "values")


@handles("shift_channels")
def shift_channels(layer: DarknetLayer) -> Results:
    """Adds another layer, whose dimensions of 1 are repeated (YOLOR)."""
    (other,) = layer.listed_operands()
    return layer.add("add", layer.image(), other)


@handles("control_channels")
def control_channels(layer: DarknetLayer) -> Results:
    """Multiplies by another layer, whose dimensions of 1 are repeated (YOLOR)."""
    (other,) = layer.listed_operands()
    return layer.add("mul", layer.image(), other)


@handles("reorg")
def reorg(layer: DarknetLayer) -> Results:
    """Moves the pixels of each block into channels (YOLOv2), or back with `reverse`."""
    layer.reject("flatten", "extra")
    stride = layer.positive("stride", 1)
    reverse = bool(layer.options.integer("reverse", 0))
    return movement.reorg(layer, layer.image(), stride, reverse=reverse)


@handles("crop")
def crop(layer: DarknetLayer) -> Results:
    """Crops to the center, and scales from [0, 1] to [-1, 1] unless `noadjust`."""
    height, width = layer.positive("crop_height", 1), layer.positive("crop_width", 1)
    x = layer.image()
    top, left = (x.shape[2] - height) // 2, (x.shape[3] - width) // 2
    if top < 0 or left < 0:
        raise layer.invalid(f"{height} x {width} is not inside {list(x.shape)}")
    slices = [(2, top, top + height, 1), (3, left, left + width, 1)]
    y = layer.value(movement.sliced(layer, x, slices))
    return y if layer.options.integer("noadjust", 0) else layer.scale_and_shift(y, 2.0, -1.0)


@handles("softmax", "soft")
def softmax(layer: DarknetLayer) -> Results:
    """Softmax over the whole image in groups, or with `spatial` over the channels of a pixel."""
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
