"""Layers that normalise: by collected or by present statistics."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._layers import Array, Value, Values
from trimtab.importers.ncnn_ops.layer import Layer, handles

# What ncnn uses where a deviation is 0.
_LEAST_DEVIATION = 1e-4


@handles("BatchNorm")
def batch_norm(layer: Layer) -> Values:
    """By collected statistics; files hold scales, means, variances, offsets."""
    x, epsilon = layer.x(), layer.param.real(1, 0.0)
    channels = (layer.param.integer(0, 0),)
    if channels[0] != x.shape[1]:
        raise layer.invalid(f"it is for {channels[0]} channels, not {x.shape[1]}")
    scale, mean, variance, shift = (
        layer.raw_weights(channels, role) for role in ("scales", "means", "variances", "offsets")
    )
    deviation = np.sqrt(np.maximum(variance + np.float32(epsilon), 0))
    deviation[deviation == 0] = _LEAST_DEVIATION
    parts = {"scale": scale, "shift": shift, "mean": mean, "variance": deviation**2}
    constants = [layer.constant(value, role) for role, value in parts.items()]
    return layer.add("batch_normalization", x, *constants, epsilon=0.0)


@handles("LRN")
def lrn(layer: Layer) -> Values:
    """Across channels, or within each channel over a square of pixels."""
    x = layer.image()
    region, size = layer.param.integer(0, 0), layer.param.integer(1, 5)
    alpha, beta = layer.param.real(2, 1.0), layer.param.real(3, 0.75)
    bias = layer.param.real(4, 1.0)
    if size < 1 or size % 2 == 0 or region not in (0, 1):
        raise layer.unsupported(f"its local_size is {size}, its region_type {region}")
    if region == 0:
        return layer.add("lrn", x, size=size, alpha=alpha, beta=beta, bias=bias)
    mean = layer.add(
        "average_pool",
        layer.add("mul", x, x),
        kernel_shape=(size, size),
        pads=(size // 2,) * 4,
        count_include_pad=True,
    )
    base = layer.scale_and_shift(mean, alpha, bias)
    return layer.add("mul", x, layer.add("pow", base, layer.constant(-beta, "exponent")))


@handles("MVN")
def mvn(layer: Layer) -> Values:
    """Mean 0 and deviation 1, of each channel or of the image; eps is added to the deviation."""
    x = layer.image()
    axes = (1, 2, 3) if layer.param.integer(1, 0) else (2, 3)
    epsilon = layer.param.real(2, 1e-4)
    y = layer.add("sub", x, layer.add("reduce_mean", x, axes=axes))
    if not layer.param.integer(0, 0):
        return y
    variance = layer.add("reduce_mean", layer.add("mul", y, y), axes=axes)
    deviation = layer.scale_and_shift(layer.add("sqrt", variance), 1.0, epsilon)
    return layer.add("div", y, deviation)


@handles("Normalize")
def normalize(layer: Layer) -> Values:
    """Length 1 of the image, of each channel, or of each pixel's channels, then factors."""
    x = layer.image()
    spatial, shared = layer.param.integer(0, 0), layer.param.integer(1, 0)
    epsilon, count = layer.param.real(2, 1e-4), layer.param.integer(3, 0)
    across = layer.param.integer(4, 0)
    mode = layer.param.integer(9, 0)
    if count != (1 if shared else x.shape[1]):
        raise layer.invalid(f"it has {count} factors for {x.shape[1]} channels")
    factors = layer.channelwise(layer.raw_weights((count,), "factors"))
    axes = tuple(axis for axis, on in ((1, across), (2, spatial), (3, spatial)) if on)
    if not axes:
        raise layer.unsupported("it normalises each number by itself")
    squares = layer.add("reduce_sum", layer.add("mul", x, x), axes=axes)
    if mode == 0:
        length = layer.add("sqrt", layer.scale_and_shift(squares, 1.0, epsilon))
    elif mode == 1:
        least = layer.constant(epsilon, "epsilon")
        length = layer.add("max", layer.add("sqrt", squares), least)
    else:
        least = layer.constant(epsilon, "epsilon")
        length = layer.add("sqrt", layer.add("max", squares, least))
    return layer.add("mul", layer.add("div", x, length), layer.constant(factors, "scale"))


def _affine(layer: Layer, key: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Factors and offsets, when parameter `key` says that there are some."""
    if layer.param.integer(key, 1):
        return layer.raw_weights(shape, "factors"), layer.raw_weights(shape, "offsets")
    return np.ones(shape, np.float32), np.zeros(shape, np.float32)


@handles("InstanceNorm")
def instance_norm(layer: Layer) -> Values:
    """Each channel over its pixels."""
    x, epsilon = layer.image(), layer.param.real(1, 1e-3)
    channels, affine = layer.param.integer(0, 0), layer.param.integer(2, 1)
    if affine and channels != x.shape[1]:
        raise layer.invalid(f"it is for {channels} channels, not {x.shape[1]}")
    parts = zip(("scale", "shift"), _affine(layer, 2, (x.shape[1],)), strict=True)
    constants = [layer.constant(value, role) for role, value in parts]
    return layer.add("instance_normalization", x, *constants, epsilon=epsilon)


@handles("GroupNorm")
def group_norm(layer: Layer) -> Values:
    """Groups of channels over their pixels, then factors and offsets per channel."""
    x, epsilon = layer.x(), layer.param.real(2, 1e-3)
    group, channels = layer.param.integer(0, 1), layer.param.integer(1, 0)
    if channels != x.shape[1] or group < 1 or channels % group:
        raise layer.invalid(f"{group} groups of {channels} channels do not fit {x.shape[1]}")
    scale, shift = _affine(layer, 3, (channels,))
    grouped = layer.reshape(x, (1, group, x.count // group))
    ones, zeros = np.ones(group, np.float32), np.zeros(group, np.float32)
    units = layer.constant(ones, "one"), layer.constant(zeros, "zero")
    y = layer.add("instance_normalization", grouped, *units, epsilon=epsilon)
    factor = layer.constant(layer.channelwise(scale), "scale")
    offset = layer.constant(layer.channelwise(shift), "shift")
    return layer.add("add", layer.add("mul", layer.reshape(y, x.shape), factor), offset)


def _normalized_axis(layer: Layer, size: int) -> int:
    """The first of the dimensions that have `size` elements together."""
    shape = layer.x().shape
    for axis in range(len(shape) - 1, 0, -1):
        if math.prod(shape[axis:]) == size:
            return axis
    raise layer.invalid(f"its {size} factors do not fit {list(shape[1:])}")


@handles("LayerNorm")
def layer_norm(layer: Layer) -> Values:
    """Rows, or channels, by themselves."""
    axis = _normalized_axis(layer, layer.param.integer(0, 0))
    epsilon = layer.param.real(1, 1e-3)
    scale, shift = _affine(layer, 2, layer.x().shape[axis:])
    constants: list[Value] = [layer.constant(scale, "scale"), layer.constant(shift, "shift")]
    return layer.add("layer_normalization", layer.x(), *constants, axis=axis, epsilon=epsilon)


@handles("Softmax")
def softmax(layer: Layer) -> Values:
    """Along one axis."""
    axis = layer.param.integer(0, 0)
    if axis and not layer.param.integer(1, 0):
        raise layer.unsupported("its axis counts a batch, as in files of old (1=1 is missing)")
    layer.param.integer(1, 0)
    return layer.add("softmax", layer.x(), axis=layer.axis(axis))
