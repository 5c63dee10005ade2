"""maxpool, avgpool, upsample, normalization."""

from __future__ import annotations

from trimtab.importers._layer import Results
from trimtab.importers.darknet_ops.layer import DarknetLayer, handles
from trimtab.importers.vocabulary.normalization import l2_norm, lrn
from trimtab.importers.vocabulary.pooling import Kind, adaptive_pool
from trimtab.importers.vocabulary.pooling import pool as windowed_pool
from trimtab.importers.vocabulary.resize import resize
from trimtab.importers.vocabulary.window import Window


@handles("maxpool", "max", "local_avgpool")
def pool(layer: DarknetLayer) -> Results:
    """Max or average pooling; `padding` is the total of both sides, an odd pixel is at the end."""
    layer.reject("maxpool_depth", "antialiasing")
    stride = layer.positive("stride", 1)
    strides = layer.positive("stride_y", stride), layer.positive("stride_x", stride)
    size = layer.positive("size", stride)
    padding = layer.options.integer("padding", size - 1)
    begin, end = padding // 2, padding - padding // 2
    window = Window((size, size), strides, (begin, begin, end, end))
    kind: Kind = "average" if layer.type == "local_avgpool" else "max"
    return windowed_pool(layer, kind, layer.image(), window)


@handles("avgpool", "avg")
def avgpool(layer: DarknetLayer) -> Results:
    """The mean of each channel."""
    return adaptive_pool(layer, "average", layer.image(), (1, 1))


@handles("upsample")
def upsample(layer: DarknetLayer) -> Results:
    """Repeats pixels, and multiplies by a factor."""
    stride = layer.options.integer("stride", 2)
    if stride < 1:
        raise layer.unsupported(f"its stride is {stride}")
    x = layer.image()
    y = resize(layer, x, [n * stride for n in x.shape[2:]], "nearest")
    return layer.scaled(y, layer.options.real("scale", 1.0))


@handles("normalization", "lrn")
def normalization(layer: DarknetLayer) -> Results:
    """Local response normalization across channels; Darknet does not divide alpha by the size."""
    size = layer.positive("size", 5)
    if size % 2 == 0:
        raise layer.unsupported(f"its size is {size}, not odd")
    alpha, beta = layer.options.real("alpha", 0.0001) * size, layer.options.real("beta", 0.75)
    return lrn(layer, layer.image(), size, alpha, beta, layer.options.real("kappa", 1.0))


@handles("l2norm")
def l2norm(layer: DarknetLayer) -> Results:
    """L2 normalization of the channels of each pixel."""
    return l2_norm(layer, layer.image(), (1,))
