"""BatchNorm, LRN, MVN, Normalize, Softmax."""

from __future__ import annotations

import numpy as np

from trimtab.importers._layers import Array, Value, Values
from trimtab.importers.caffe_ops.layer import Layer, handles


def _batch_norm(
    layer: Layer, scale: Array, shift: Array, mean: Array, variance: Array, epsilon: float
) -> Value:
    x = layer.x()
    roles = {"scale": scale, "shift": shift, "mean": mean, "variance": variance}
    constants = [layer.constant(value, role) for role, value in roles.items()]
    return layer.add("batch_normalization", x, *constants, epsilon=epsilon)


@handles("BatchNorm")
def batch_norm(layer: Layer) -> Values:
    """By collected statistics, which are sums: the third blob says of how many batches."""
    param = layer.param("batch_norm_param")
    if not param.boolean("use_global_stats", True):
        raise layer.unsupported("it uses the statistics of each batch (use_global_stats: false)")
    param.texts("moving_average_fraction")
    channels = (layer.x().shape[1],)
    factor = float(layer.blob(2, (1,), "scale factor").reshape(-1)[0])
    factor = 0.0 if factor == 0.0 else 1.0 / factor
    mean = layer.blob(0, channels, "mean") * np.float32(factor)
    variance = layer.blob(1, channels, "variance") * np.float32(factor)
    scale, shift = np.ones(channels, np.float32), np.zeros(channels, np.float32)
    # NVIDIA's fork keeps the Scale layer that would follow in here.
    if param.boolean("scale_bias", False):
        scale, shift = layer.blob(3, channels, "scale"), layer.blob(4, channels, "bias")
    return _batch_norm(layer, scale, shift, mean, variance, param.real("eps", 1e-5))


@handles("BN")
def bn(layer: Layer) -> Values:
    """Scale and shift, then, unless they are folded in, mean and variance (SegNet, PSPNet)."""
    param = layer.param("bn_param")
    for name in ("bn_mode", "frozen", "momentum"):
        param.texts(name)
    channels = (layer.x().shape[1],)
    scale, shift = layer.blob(0, channels, "scale"), layer.blob(1, channels, "shift")
    if layer.blob_count >= 4:
        mean, variance = layer.blob(2, channels, "mean"), layer.blob(3, channels, "variance")
        return _batch_norm(layer, scale, shift, mean, variance, param.real("eps", 1e-5))
    spread = (channels[0], *[1] * (len(layer.x().shape) - 2))
    y = layer.add("mul", layer.x(), layer.constant(scale.reshape(spread), "scale"))
    return layer.add("add", y, layer.constant(shift.reshape(spread), "shift"))


@handles("LRN")
def lrn(layer: Layer) -> Values:
    """Across channels, or within each channel over a square of pixels."""
    param = layer.param("lrn_param")
    x = layer.image()
    size = param.integer("local_size", 5)
    alpha, beta, k = param.real("alpha", 1.0), param.real("beta", 0.75), param.real("k", 1.0)
    if size < 1 or size % 2 == 0:
        raise layer.invalid(f"its local_size is {size}, not an odd number")
    regions = ("ACROSS_CHANNELS", "WITHIN_CHANNEL")
    if param.choice("norm_region", regions, regions[0]) == regions[0]:
        return layer.add("lrn", x, size=size, alpha=alpha, beta=beta, bias=k)
    half = size // 2
    mean = layer.add(
        "average_pool",
        layer.add("mul", x, x),
        kernel_shape=(size, size),
        pads=(half,) * 4,
        count_include_pad=True,
    )
    # Caffe ignores k here.
    base = layer.scale_and_shift(mean, alpha, 1.0)
    return layer.add("mul", x, layer.add("pow", base, layer.constant(-beta, "exponent")))


@handles("MVN")
def mvn(layer: Layer) -> Values:
    """Mean 0 and deviation 1, of each channel or of each image; eps is added to the deviation."""
    param = layer.param("mvn_param")
    x = layer.x()
    first = 1 if param.boolean("across_channels", False) else 2
    axes = tuple(range(first, len(x.shape)))
    epsilon = param.real("eps", 1e-9)
    if not axes:
        raise layer.unsupported("its channels have one pixel")
    y = layer.add("sub", x, layer.add("reduce_mean", x, axes=axes))
    if not param.boolean("normalize_variance", True):
        return y
    variance = layer.add("reduce_mean", layer.add("mul", y, y), axes=axes)
    deviation = layer.scale_and_shift(layer.add("sqrt", variance), 1.0, epsilon)
    return layer.add("div", y, deviation)


@handles("Normalize")
def normalize(layer: Layer) -> Values:
    """Length 1 of each pixel's channels, or of the image, then factors per channel (SSD)."""
    param = layer.param("norm_param")
    x = layer.image()
    axes = (1, 2, 3) if param.boolean("across_spatial", True) else (1,)
    shape = (1,) if param.boolean("channel_shared", True) else (x.shape[1],)
    scale = layer.blob(0, shape, "scale").reshape(-1, 1, 1)
    squares = layer.add("reduce_sum", layer.add("mul", x, x), axes=axes)
    length = layer.add("sqrt", layer.scale_and_shift(squares, 1.0, param.real("eps", 1e-10)))
    return layer.add("mul", layer.add("div", x, length), layer.constant(scale, "scale"))


@handles("Softmax")
def softmax(layer: Layer) -> Values:
    """Along one axis, the channels unless it is given."""
    axis = layer.axis(layer.param("softmax_param").integer("axis", 1))
    return layer.add("softmax", layer.x(), axis=axis)
