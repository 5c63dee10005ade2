"""Pooling, SPP, Interp and Upsample."""

from __future__ import annotations

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.caffe_ops.contract import takes
from trimtab.importers.caffe_ops.convolution import spatial
from trimtab.importers.caffe_ops.layer import CaffeLayer, handles
from trimtab.importers.caffe_ops.prototxt import Message
from trimtab.importers.caffe_ops.spec import KERNEL, PAD, POOLS, STRIDE
from trimtab.importers.vocabulary import pooling as pools
from trimtab.importers.vocabulary.movement import concat, flattened, sliced
from trimtab.importers.vocabulary.resize import resize
from trimtab.importers.vocabulary.window import Pair, Window

_METHODS = (*POOLS, "STOCHASTIC")

_MAX_LEVELS = 16  # of a pyramid; more bins than an image has pixels


@handles("Pooling")
@takes(tops=(1, 2))
def pooling(layer: CaffeLayer) -> Results:
    """Sizes are rounded up; a mean counts all pixels of the window inside the padded image."""
    param = layer.param
    x = layer.image()
    method = param.choice("pool", _METHODS, "MAX")
    if method == "STOCHASTIC":
        raise layer.unsupported("its pool is STOCHASTIC")
    if method == "AVE" and len(layer.outputs) > 1:
        raise layer.invalid("it has 2 tops, and takes exactly 1: a mean has no mask")
    if param.boolean("global_pooling", False):
        _check_global(layer, param)
        return pools.adaptive_pool(layer, POOLS[method], x, (1, 1))
    kernel = spatial(layer, KERNEL)
    strides = spatial(layer, STRIDE)
    pads = spatial(layer, PAD)
    ceil = param.choice("round_mode", ("CEIL", "FLOOR"), "CEIL") == "CEIL"
    ceil = param.boolean("ceil_mode", ceil)
    window = Window(kernel, strides, (*pads, *pads))
    window.check(layer)
    if ceil and not any(pads):
        _check_windows(layer, x, kernel, strides)
    y = pools.pool(layer, POOLS[method], x, window, ceil_mode=ceil, count_include_pad=True)
    if method == "AVE" or len(layer.outputs) < 2:
        return y
    # The engine finds the positions of the maxima again, in the input of the pool.
    layer.phase.masks[str(layer.outputs[1])] = {
        "kernel_shape": kernel,
        "strides": strides,
        "pads": window.pads,
        "ceil_mode": ceil,
    }
    return y, x


def _check_global(layer: CaffeLayer, param: Message) -> None:
    """Rejects padding and strides of a global pool, whose kernel size has no effect."""
    pads = spatial(layer, PAD)
    strides = spatial(layer, STRIDE)
    if pads != (0, 0) or strides != (1, 1):
        raise layer.invalid("a global pool can have no padding and no stride")
    for name in ("kernel_size", "kernel_h", "kernel_w", "round_mode", "ceil_mode"):
        param.texts(name)


def _check_windows(layer: CaffeLayer, x: Value, kernel: Pair, strides: Pair) -> None:
    """Rejects a last window outside of the image, which Caffe keeps if there is no padding."""
    for size, k, stride in zip(x.shape[2:], kernel, strides, strict=True):
        if -(-(size - k) // stride) * stride >= size:
            raise layer.unsupported("its last window lies outside of the image")


@handles("SPP")
def spatial_pyramid(layer: CaffeLayer) -> Results:
    """Pools to 1 x 1, 2 x 2, 4 x 4, ... bins, which become one row of values per image (He et al.
    2014). A pyramid of one level remains an image.
    """
    param = layer.param
    x = layer.image()
    method, levels = param.choice("pool", _METHODS, "MAX"), param.integer("pyramid_height", 0)
    if method == "STOCHASTIC":
        raise layer.unsupported("its pool is STOCHASTIC")
    if not 1 <= levels <= _MAX_LEVELS:
        raise layer.invalid(f"its pyramid_height is {levels}, not 1 to {_MAX_LEVELS}")
    pooled = [_bins(layer, POOLS[method], x, 2**level) for level in range(levels)]
    if levels == 1:
        return pooled[0]
    return concat(layer, [flattened(layer, y, 1) for y in pooled], axis=1)


def _bins(layer: CaffeLayer, kind: pools.Kind, x: Value, bins: int) -> Value:
    """Pools to bins x bins windows of one size, centered on the image."""
    kernel = [-(-size // bins) for size in x.shape[2:]]
    pads = [(k * bins - size + 1) // 2 for k, size in zip(kernel, x.shape[2:], strict=True)]
    if any(pad >= k for pad, k in zip(pads, kernel, strict=True)):
        raise layer.invalid(f"{bins} x {bins} bins do not fit an image of {list(x.shape[2:])}")
    size = kernel[0], kernel[1]
    window = Window(size, size, (*pads, *pads))
    return pools.pool(layer, kind, x, window, ceil_mode=True, count_include_pad=True)


@handles("Interp")
@takes((1, 2))
def interp(layer: CaffeLayer) -> Results:
    """Bilinear, with aligned corners (DeepLab); negative pads crop."""
    param = layer.param
    x = layer.image()
    begin, end = param.integer("pad_beg", 0), param.integer("pad_end", 0)
    if begin > 0 or end > 0:
        raise layer.invalid("its pads must not be positive")
    shrink, zoom = param.integer("shrink_factor", 1), param.integer("zoom_factor", 1)
    if shrink < 1 or zoom < 1:
        raise layer.invalid("its factors must be positive")
    cuts = [(axis, -begin, x.shape[axis] + end, 1) for axis in (2, 3)]
    x = layer.value(sliced(layer, x, cuts))
    if layer.has(1):
        sizes = list(layer.image(1).shape[2:])
    elif param.has("height") or param.has("width"):
        sizes = [param.integer("height", 0), param.integer("width", 0)]
    else:
        shrunk = [(size - 1) // shrink + 1 for size in x.shape[2:]]
        sizes = [size + (size - 1) * (zoom - 1) for size in shrunk]
    return resize(layer, x, sizes, "linear", "align_corners")


@handles("Upsample")
@takes((1, 2))
def upsample(layer: CaffeLayer) -> Results:
    """Repeats pixels (YOLOv3), or restores the maxima of a pool at its mask (SegNet)."""
    param = layer.param
    x = layer.image()
    scale = param.integer("scale", 2)
    scales = param.integer("scale_h", scale), param.integer("scale_w", scale)
    sizes = [size * factor for size, factor in zip(x.shape[2:], scales, strict=True)]
    if not layer.has(1):
        return resize(layer, x, sizes, "nearest")
    source = layer.image(1)
    sizes = [param.integer("upsample_h", sizes[0]), param.integer("upsample_w", sizes[1])]
    if layer.inputs[1] not in layer.phase.masks:
        raise layer.unsupported("its second bottom is not the mask of a pool")
    if sizes != list(source.shape[2:]):
        raise layer.unsupported(f"its size is {sizes}, the pool read {list(source.shape[2:])}")
    return layer.add("max_unpool", x, source, **layer.phase.masks[str(layer.inputs[1])])
