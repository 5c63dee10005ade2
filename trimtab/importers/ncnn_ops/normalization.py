"""Normalization layers, with stored statistics or with those of the input."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary import normalization as norm
from trimtab.importers.vocabulary.activation import affine

# ncnn's deviation in place of 0.
_MIN_DEVIATION = 1e-4


@handles("BatchNorm")
def batch_norm(layer: NcnnLayer) -> Results:
    """Batch normalization with stored scales, means, variances and offsets."""
    x, epsilon = layer.x(), layer.param.real("eps", 0.0)
    channels = (layer.param.integer("channels", 0),)
    if channels[0] != x.shape[1]:
        raise layer.invalid(f"it is for {channels[0]} channels, not {x.shape[1]}")
    scale, mean, variance, shift = (
        layer.raw_weights(channels, role) for role in ("scales", "means", "variances", "offsets")
    )
    total = variance + np.float32(epsilon)
    if total.min() <= 0:
        variance, epsilon = np.where(total > 0, total, _MIN_DEVIATION**2), 0.0
    return norm.batch_norm(layer, x, scale, shift, mean, variance, epsilon)


@handles("LRN")
def lrn(layer: NcnnLayer) -> Results:
    """Local response normalization, across channels or within each channel."""
    x, p = layer.image(), layer.param
    region, size = p.choice("region_type"), p.integer("local_size", 5)
    alpha, beta, bias = p.real("alpha", 1.0), p.real("beta", 0.75), p.real("bias", 1.0)
    if size < 1 or size % 2 == 0 or not region:
        number = p.integer("region_type", 0)
        raise layer.unsupported(f"its local_size is {size}, its region_type {number}")
    if region == "across":
        return layer.add("lrn", x, size=size, alpha=alpha, beta=beta, bias=bias)
    return norm.lrn_within(layer, x, size, alpha, beta, bias)


@handles("MVN")
def mvn(layer: NcnnLayer) -> Results:
    """Mean 0 and deviation 1 per channel or per image; eps is added to the deviation."""
    p = layer.param
    axes = (1, 2, 3) if p.integer("across_channels", 0) else (2, 3)
    epsilon, scaled = p.real("eps", 1e-4), p.integer("normalize_variance", 0) != 0
    return norm.mean_variance_norm(layer, layer.image(), axes, epsilon, scaled=scaled)


@handles("Normalize")
def normalize(layer: NcnnLayer) -> Results:
    """L2 normalization per image, per channel or per pixel, then factors."""
    x, p = layer.image(), layer.param
    spatial, shared = p.integer("across_spatial", 0), p.integer("channel_shared", 0)
    epsilon, count = p.real("eps", 1e-4), p.integer("scale_data_size", 0)
    across, mode = p.integer("across_channel", 0), p.integer("eps_mode", 0)
    if count != (1 if shared else x.shape[1]):
        raise layer.invalid(f"it has {count} factors for {x.shape[1]} channels")
    factors = layer.raw_weights((count,), "factors")
    axes = tuple(axis for axis, on in ((1, across), (2, spatial), (3, spatial)) if on)
    if not axes:
        raise layer.unsupported("it normalizes each element by itself")
    name = {0: "added", 1: "min_length"}.get(mode, "min_square")
    y = norm.l2_norm(layer, x, axes, **{name: epsilon})
    return affine(layer, y, factors, None)


def _affine(layer: NcnnLayer, shape: tuple[int, ...]) -> norm.Affine:
    """Factors and offsets if parameter `affine` is set."""
    if layer.param.integer("affine", 1):
        return layer.raw_weights(shape, "factors"), layer.raw_weights(shape, "offsets")
    return None, None


@handles("InstanceNorm")
def instance_norm(layer: NcnnLayer) -> Results:
    """Normalizes each channel over its pixels."""
    x, epsilon = layer.image(), layer.param.real("eps", 1e-3)
    channels, affine = layer.param.integer("channels", 0), layer.param.integer("affine", 1)
    if affine and channels != x.shape[1]:
        raise layer.invalid(f"it is for {channels} channels, not {x.shape[1]}")
    return norm.instance_norm(layer, x, _affine(layer, x.shape[1:2]), epsilon)


@handles("GroupNorm")
def group_norm(layer: NcnnLayer) -> Results:
    """Normalizes groups of channels, then applies factors and offsets per channel."""
    x, epsilon = layer.x(), layer.param.real("eps", 1e-3)
    group, channels = layer.param.integer("group", 1), layer.param.integer("channels", 0)
    if channels != x.shape[1]:
        raise layer.invalid(f"it is for {channels} channels, not {x.shape[1]}")
    return norm.group_norm(layer, x, group, _affine(layer, (channels,)), epsilon)


def _normalized_axis(layer: NcnnLayer, size: int) -> int:
    """The first of the last axes that have `size` elements together."""
    shape = layer.x().shape
    for axis in range(len(shape) - 1, 0, -1):
        if math.prod(shape[axis:]) == size:
            return axis
    raise layer.invalid(f"its {size} factors do not fit {list(shape[1:])}")


@handles("LayerNorm")
def layer_norm(layer: NcnnLayer) -> Results:
    """Normalizes each row or each channel."""
    axis = _normalized_axis(layer, layer.param.integer("affine_size", 0))
    epsilon = layer.param.real("eps", 1e-3)
    affine = _affine(layer, layer.x().shape[axis:])
    return norm.layer_norm(layer, layer.x(), axis, affine, epsilon)


@handles("RMSNorm")
def rms_norm(layer: NcnnLayer) -> Results:
    """Divides each row or each channel by its root mean square, then applies factors."""
    axis = _normalized_axis(layer, layer.param.integer("affine_size", 0))
    y = norm.rms_norm(layer, layer.x(), axis, layer.param.real("eps", 1e-3))
    if not layer.param.integer("affine", 1):
        return y
    factors = layer.raw_weights(layer.x().shape[axis:], "factors")
    return layer.add("mul", y, layer.constant(factors, "factors"))


@handles("Softmax")
def softmax(layer: NcnnLayer) -> Results:
    """Softmax along an axis."""
    axis, counts_no_batch = layer.param.integer("axis", 0), layer.param.integer("fixbug0", 0)
    if axis and not counts_no_batch:
        raise layer.unsupported("its axis counts a batch, as in old files (1=1 is missing)")
    return layer.add("softmax", layer.x(), axis=layer.blob_axis(axis))
