"""Pooling, by Caffe's rule of sizes, and enlarging."""

from __future__ import annotations

from trimtab.importers._layers import Value, Values
from trimtab.importers.caffe_ops.convolution import Pair, spatial
from trimtab.importers.caffe_ops.layer import Layer, handles
from trimtab.importers.caffe_ops.prototxt import Message


@handles("Pooling")
def pooling(layer: Layer) -> Values:
    """Sizes are rounded up; means divide by all pixels of the window inside the padded image."""
    param = layer.param("pooling_param")
    x = layer.image()
    method = param.choice("pool", ("MAX", "AVE", "STOCHASTIC"), "MAX")
    if method == "STOCHASTIC":
        raise layer.unsupported("its pool is STOCHASTIC")
    if param.boolean("global_pooling", False):
        _check_global(layer, param)
        return layer.add("global_max_pool" if method == "MAX" else "global_average_pool", x)
    kernel = spatial(layer, param, "kernel_size", "kernel", None)
    strides = spatial(layer, param, "stride", "stride", 1)
    pads = spatial(layer, param, "pad", "pad", 0)
    ceil = param.choice("round_mode", ("CEIL", "FLOOR"), "CEIL") == "CEIL"
    ceil = param.boolean("ceil_mode", ceil)
    if min(*kernel, *strides) < 1:
        raise layer.invalid(f"its window is {kernel}, its stride {strides}")
    if ceil and not any(pads):
        _check_windows(layer, x, kernel, strides)
    window = {
        "kernel_shape": kernel,
        "strides": strides,
        "pads": (*pads, *pads),
        "ceil_mode": ceil,
    }
    if method == "AVE":
        return layer.add("average_pool", x, **window, count_include_pad=True)
    y = layer.add("max_pool", x, **window)
    if len(layer.tops) < 2:
        return y
    # Where the maxima are can be found again in what the pool read: the mask stands for that.
    layer.masks[layer.tops[1]] = window
    return y, x


def _check_global(layer: Layer, param: Message) -> None:
    """A global pool has neither padding nor steps; the size of its window is of no use."""
    pads = spatial(layer, param, "pad", "pad", 0)
    strides = spatial(layer, param, "stride", "stride", 1)
    if pads != (0, 0) or strides != (1, 1):
        raise layer.invalid("a global pool can have no padding and no stride")
    for name in ("kernel_size", "kernel_h", "kernel_w", "round_mode", "ceil_mode"):
        param.texts(name)


def _check_windows(layer: Layer, x: Value, kernel: Pair, strides: Pair) -> None:
    """Without padding, Caffe keeps a last window that lies outside the image altogether."""
    for size, k, stride in zip(x.shape[2:], kernel, strides, strict=True):
        if -(-(size - k) // stride) * stride >= size:
            raise layer.unsupported("its last window lies outside of the image")


@handles("Interp")
def interp(layer: Layer) -> Values:
    """Bilinear, corners aligned (DeepLab); negative pads crop; a second bottom gives the size."""
    param = layer.param("interp_param")
    x = layer.image()
    begin, end = param.integer("pad_beg", 0), param.integer("pad_end", 0)
    if begin > 0 or end > 0:
        raise layer.invalid("its pads must not be positive")
    shrink, zoom = param.integer("shrink_factor", 1), param.integer("zoom_factor", 1)
    if shrink < 1 or zoom < 1:
        raise layer.invalid("its factors must be positive")
    if begin or end:
        ends = [size + end for size in x.shape[2:]]
        x = layer.add("slice", x, starts=(-begin, -begin), ends=ends, axes=(2, 3), steps=(1, 1))
    if len(layer.bottoms) > 1:
        sizes = list(layer.image(1).shape[2:])
    elif param.has("height") or param.has("width"):
        sizes = [param.integer("height", 0), param.integer("width", 0)]
    else:
        shrunk = [(size - 1) // shrink + 1 for size in x.shape[2:]]
        sizes = [size + (size - 1) * (zoom - 1) for size in shrunk]
    return layer.add("resize", x, sizes=sizes, mode="linear", coordinate_mode="align_corners")


@handles("Upsample")
def upsample(layer: Layer) -> Values:
    """Repeats pixels (YOLOv3 for Caffe), or with a pool's mask puts its maxima back (SegNet)."""
    param = layer.param("upsample_param")
    x = layer.image()
    scale = param.integer("scale", 2)
    scales = param.integer("scale_h", scale), param.integer("scale_w", scale)
    sizes = [size * factor for size, factor in zip(x.shape[2:], scales, strict=True)]
    if len(layer.bottoms) < 2:
        return layer.add(
            "resize",
            x,
            sizes=sizes,
            mode="nearest",
            coordinate_mode="asymmetric",
            nearest_mode="floor",
        )
    source = layer.image(1)
    sizes = [param.integer("upsample_h", sizes[0]), param.integer("upsample_w", sizes[1])]
    if layer.bottom_names[1] not in layer.masks:
        raise layer.unsupported("its second bottom is not the mask of a pool")
    if sizes != list(source.shape[2:]):
        raise layer.unsupported(f"it makes {sizes} of a pool of {list(source.shape[2:])}")
    return layer.add("max_unpool", x, source, **layer.masks[layer.bottom_names[1]])
