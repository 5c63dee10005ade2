"""maxpool, avgpool, upsample, normalisation."""

from __future__ import annotations

from trimtab.importers._layers import Value
from trimtab.importers.darknet_ops.layer import Layer, handles


@handles("maxpool", "max", "local_avgpool")
def pool(layer: Layer) -> Value:
    """`padding` counts both sides together; the odd pixel is at the right and bottom."""
    layer.refuse("maxpool_depth", "antialiasing")
    stride = layer.positive("stride", 1)
    strides = layer.positive("stride_y", stride), layer.positive("stride_x", stride)
    size = layer.positive("size", stride)
    padding = layer.options.integer("padding", size - 1)
    begin = padding // 2
    return layer.add(
        "average_pool" if layer.options.type == "local_avgpool" else "max_pool",
        layer.x,
        kernel_shape=(size, size),
        strides=strides,
        pads=(begin, begin, padding - begin, padding - begin),
    )


@handles("avgpool", "avg")
def avgpool(layer: Layer) -> Value:
    """The mean of every channel."""
    return layer.add("global_average_pool", layer.x)


@handles("upsample")
def upsample(layer: Layer) -> Value:
    """Repeats pixels, times a factor."""
    stride = layer.options.integer("stride", 2)
    if stride < 1:
        raise layer.unsupported(f"its stride is {stride}")
    y = layer.add(
        "resize",
        layer.x,
        sizes=[n * stride for n in layer.x.shape[2:]],
        mode="nearest",
        coordinate_mode="asymmetric",
        nearest_mode="floor",
    )
    return layer.scaled(y, layer.options.real("scale", 1.0))


@handles("normalization", "lrn")
def normalization(layer: Layer) -> Value:
    """Local response normalisation across channels; alpha is not divided by the size."""
    size = layer.positive("size", 5)
    if size % 2 == 0:
        raise layer.unsupported(f"its size is {size}, not odd")
    return layer.add(
        "lrn",
        layer.x,
        size=size,
        alpha=layer.options.real("alpha", 0.0001) * size,
        beta=layer.options.real("beta", 0.75),
        bias=layer.options.real("kappa", 1.0),
    )


@handles("l2norm")
def l2norm(layer: Layer) -> Value:
    """Length 1 of every pixel's channels."""
    squares = layer.add("reduce_sum", layer.add("mul", layer.x, layer.x), axes=(1,))
    return layer.add("div", layer.x, layer.add("sqrt", squares))
