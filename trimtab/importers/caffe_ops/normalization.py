"""BatchNorm, LRN, MVN, Normalize, Softmax."""

from __future__ import annotations

import numpy as np

from trimtab.importers._layer import Results
from trimtab.importers.caffe_ops.layer import CaffeLayer, handles
from trimtab.importers.vocabulary import normalization
from trimtab.importers.vocabulary.activation import affine


@handles("BatchNorm")
def batch_norm(layer: CaffeLayer) -> Results:
    """Normalization with stored statistics: sums over a number of batches, the third blob. For
    training, with those of the batch.
    """
    param = layer.param
    stored = param.boolean("use_global_stats", not layer.phase.is_training)
    if not stored and not layer.phase.is_training:
        raise layer.unsupported("it uses the statistics of each batch (use_global_stats: false)")
    momentum = param.real("moving_average_fraction", 0.999)
    if not stored:
        layer.phase.statistics[layer.name] = momentum
    channels = (layer.x().shape[1],)
    factor = float(layer.blob(2, (1,), "scale factor").reshape(-1)[0])
    factor = 0.0 if factor == 0.0 else 1.0 / factor
    mean = layer.blob(0, channels, "mean") * np.float32(factor)
    variance = layer.blob(1, channels, "variance") * np.float32(factor)
    scale, shift = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    # NVIDIA's fork includes the Scale layer.
    if param.boolean("scale_bias", False):
        scale, shift = layer.blob(3, channels, "scale"), layer.blob(4, channels, "bias")
    epsilon = param.real("eps", 1e-5)
    return normalization.batch_norm(layer, layer.x(), scale, shift, mean, variance, epsilon)


@handles("BN")
def bn(layer: CaffeLayer) -> Results:
    """Scale and shift, with mean and variance unless these are folded in (SegNet, PSPNet)."""
    param = layer.param
    for name in ("bn_mode", "frozen", "momentum"):
        param.texts(name)
    x = layer.x()
    roles = ("scale", "shift", "mean", "variance")[: 4 if layer.blob_count >= 4 else 2]
    scale, shift, *statistics = (layer.blob(i, x.shape[1:2], r) for i, r in enumerate(roles))
    if statistics:
        mean, variance = statistics
        epsilon = param.real("eps", 1e-5)
        return normalization.batch_norm(layer, x, scale, shift, mean, variance, epsilon)
    return affine(layer, x, scale, shift)


@handles("LRN")
def lrn(layer: CaffeLayer) -> Results:
    """Local response normalization, across channels or within each channel."""
    param = layer.param
    x = layer.image()
    size = param.integer("local_size", 5)
    alpha, beta, k = param.real("alpha", 1.0), param.real("beta", 0.75), param.real("k", 1.0)
    if size < 1 or size % 2 == 0:
        raise layer.invalid(f"its local_size is {size}, not an odd number")
    regions = ("ACROSS_CHANNELS", "WITHIN_CHANNEL")
    if param.choice("norm_region", regions, regions[0]) == regions[0]:
        return layer.add("lrn", x, size=size, alpha=alpha, beta=beta, bias=k)
    # Caffe ignores k here.
    return normalization.lrn_within(layer, x, size, alpha, beta, 1.0)


@handles("MVN")
def mvn(layer: CaffeLayer) -> Results:
    """Mean 0 and deviation 1 per channel or per image; eps is added to the deviation."""
    param = layer.param
    first = 1 if param.boolean("across_channels", False) else 2
    axes = range(first, len(layer.x().shape))
    if not axes:
        raise layer.unsupported("its channels have one pixel")
    scaled, epsilon = param.boolean("normalize_variance", True), param.real("eps", 1e-9)
    return normalization.mean_variance_norm(layer, layer.x(), axes, epsilon, scaled=scaled)


@handles("Normalize")
def normalize(layer: CaffeLayer) -> Results:
    """L2 normalization per pixel or per image, then factors per channel (SSD)."""
    param = layer.param
    x = layer.image()
    axes = (1, 2, 3) if param.boolean("across_spatial", True) else (1,)
    shape = (1,) if param.boolean("channel_shared", True) else (x.shape[1],)
    y = normalization.l2_norm(layer, x, axes, added=param.real("eps", 1e-10))
    return affine(layer, y, layer.blob(0, shape, "scale"), None)


@handles("Softmax")
def softmax(layer: CaffeLayer) -> Results:
    """Softmax along an axis, by default the channels."""
    axis = layer.axis(layer.param.integer("axis", 1))
    return layer.add("softmax", layer.x(), axis=axis)
