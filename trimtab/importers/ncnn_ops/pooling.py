"""Pooling with ncnn's padding modes, and resizing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.convolution import pads, pair
from trimtab.importers.ncnn_ops.expression import evaluate
from trimtab.importers.ncnn_ops.layer import NONE, NcnnLayer, handles
from trimtab.importers.vocabulary import pooling as pools
from trimtab.importers.vocabulary.movement import concat, expanded, flattened, padded
from trimtab.importers.vocabulary.resize import AxisResize, resize
from trimtab.importers.vocabulary.window import Window, from_image, to_image

_MAX_LEVELS = 10  # of a pyramid: 2^9 bins per axis


@handles("Pooling")
def pooling(layer: NcnnLayer) -> Results:
    """Pools with a window, over the whole image (the result is a vector), or to a given size."""
    kind, x = _kind(layer), layer.image()
    if layer.param.integer("global_pooling", 0):
        # Files contain window parameters that have no effect here.
        layer.param.read.update(layer.param.params)
        y = pools.adaptive_pool(layer, kind, x, (1, 1))
        return layer.reshape(y, y.shape[:2])
    if layer.param.integer("adaptive_pooling", 0):
        layer.param.read.update(layer.param.params)
        return _adaptive(layer, x, kind)
    window = Window(pair(layer, "kernel", 0), pair(layer, "stride", 1), pads(layer))
    return _windowed(layer, x, kind, window)


def _kind(layer: NcnnLayer) -> pools.Kind:
    if kind := layer.param.choice("pooling_type"):
        return "average" if kind == "average" else "max"
    raise layer.unsupported(f"its pooling_type {layer.param.text('pooling_type')} is not known")


@handles("Pooling1D")
def pooling_1d(layer: NcnnLayer) -> Results:
    """Pools the rows of a matrix with a window, whole (the result is a vector), or to a size."""
    p, kind = layer.param, _kind(layer)
    image = to_image(layer, layer.x(), 1)
    if p.integer("global_pooling", 0):
        p.read.update(p.params)
        y = pools.adaptive_pool(layer, kind, image, (1, 1))
        return layer.reshape(y, y.shape[:2])
    if p.integer("adaptive_pooling", 0):
        p.read.update(p.params)
        y = pools.adaptive_pool(layer, kind, image, (1, p.integer("out_w", 0)))
        return from_image(layer, y, 1, layer.x())
    left = p.integer("pad_left", 0)
    padding = 0, left, 0, p.integer("pad_right", left)
    window = Window((1, p.integer("kernel_w", 0)), (1, p.integer("stride_w", 1)), padding)
    y = _windowed(layer, image, kind, window)
    return from_image(layer, y, 1, layer.x())


def _adaptive(layer: NcnnLayer, x: Value, kind: pools.Kind) -> Value:
    width = layer.param.integer("out_w", 0)
    size = (layer.param.integer("out_h", width), width)
    height, width = (n if out == NONE else out for out, n in zip(size, x.shape[2:], strict=True))
    return pools.adaptive_pool(layer, kind, x, (height, width))


def _windowed(layer: NcnnLayer, x: Value, kind: pools.Kind, window: Window) -> Value:
    mode = layer.param.choice("pad_mode")
    counted = bool(layer.param.integer("avgpool_count_include_pad", 0))
    window.check(layer)
    if min(window.pads) < 0 or max(window.pads) >= 2**24:
        raise layer.invalid(f"its padding is {window.pads}")
    size, ceil_mode = x.shape[2:], mode == "full"
    if ceil_mode:
        padding = window.pads
        room = [size[i] + padding[i] + padding[2 + i] - window.kernel[i] for i in range(2)]
        ends = [padding[2 + i] + -room[i] % window.strides[i] for i in range(2)]
        filled = window.padded((*padding[:2], *ends))
        if filled != window.filled(size):
            # The last window lies outside of the image, which ncnn allows.
            window, ceil_mode = filled, False
    elif mode.startswith("same"):
        if any(window.pads):
            raise layer.unsupported("it has padding beside pad_mode")
        window = window.same(size, lower=mode == "same_lower")
        counted = True
    elif not mode:
        raise layer.unsupported(f"its pad_mode {layer.param.text('pad_mode')} is not known")
    counts = {"count_include_pad": counted, "count_overhang": counted}
    return pools.pool(layer, kind, x, window, ceil_mode=ceil_mode, **counts)


@handles("SPP")
def spatial_pyramid(layer: NcnnLayer) -> Results:
    """Pools to 1 x 1, 2 x 2, 4 x 4, ... bins, which become one vector (He et al. 2014). Bins beyond
    the image read zeros.
    """
    kind, levels, x = _kind(layer), layer.param.integer("pyramid_height", 1), layer.image()
    if not 1 <= levels <= _MAX_LEVELS:
        raise layer.invalid(f"it has {levels} levels, not 1 to {_MAX_LEVELS}")
    pooled = [_bins(layer, kind, x, 2**level) for level in range(levels)]
    return concat(layer, [flattened(layer, y, 1) for y in pooled], axis=1)


def _bins(layer: NcnnLayer, kind: pools.Kind, x: Value, bins: int) -> Value:
    """Pools to bins x bins windows of one size, centered on the image."""
    kernel = -(-x.shape[2] // bins), -(-x.shape[3] // bins)
    missing = [k * bins - size for k, size in zip(kernel, x.shape[2:], strict=True)]
    pads = {2 + i: ((n + 1) // 2, n // 2) for i, n in enumerate(missing)}
    return pools.pool(layer, kind, padded(layer, x, pads), Window(kernel, kernel))


@handles("Interp")
def interp(layer: NcnnLayer) -> Results:
    """Resizes by nearest neighbor, linearly or by cubics; a vector [1, c] becomes an image."""
    x, p = layer.x(), layer.param
    mode, aligned = p.choice("resize_type"), p.integer("align_corner", 0)
    scales = p.real("height_scale", 1.0), p.real("width_scale", 1.0)
    output = p.integer("output_height", 0), p.integer("output_width", 0)
    expression = p.text("size_expr")
    shape = x.shape
    size = (1, 1, *shape)[-2:] if len(shape) > 2 else (1, 1)
    sizes: tuple[int, ...] = output
    exact = True
    if expression:
        values = evaluate(layer, expression)
        if len(values) not in (1, 2):
            raise layer.invalid(f"its size has {len(values)} dimensions")
        sizes = (values[1] if len(values) > 1 else size[0], values[0])
    elif p.integer("dynamic_target_size", 0):
        sizes = (1, *layer.x(1).shape)[-2:]
    elif 0 in output:
        sizes = tuple(_scaled(layer, n, s) for n, s in zip(size, scales, strict=True))
        exact = False
    if len(shape) == 2:
        return expanded(layer, layer.reshape(x, (*shape, 1, 1)), (*shape, *sizes))
    if len(shape) == 3:
        sizes = (shape[1], sizes[1])
        x = layer.reshape(x, (1, *shape))
    elif len(shape) != 4:
        raise layer.unsupported(f"its input has {len(shape) - 1} dimensions")
    if sizes != x.shape[2:] and not mode:
        raise layer.unsupported(f"its resize_type is {p.integer('resize_type', 0)}")
    coordinates = "align_corners" if aligned else "half_pixel"
    if mode == "cubic":
        y = _bicubic(layer, x, sizes, coordinates)
    elif mode == "linear":
        y = resize(layer, x, sizes, mode, coordinates, scales=() if exact else scales)
    else:
        y = resize(layer, x, sizes, "nearest", scales=() if exact else scales)
    return layer.reshape(y, y.shape[1:]) if len(shape) == 3 else y


def _bicubic(layer: NcnnLayer, x: Value, sizes: Sequence[int], coordinates: str) -> Value:
    """Resizes height and width with Keys' cubic filter."""
    for axis, after in ((2, sizes[0]), (3, sizes[1])):
        before = x.shape[axis]
        if after != before:
            resized = AxisResize(before, after, after / before, "cubic", coordinates)
            x = resized.applied(layer, x, axis)
    return x


def _scaled(layer: NcnnLayer, size: int, scale: float) -> int:
    if not 0 < scale < 2**20:
        raise layer.invalid(f"its scale is {scale}")
    return int(np.float32(size) * np.float32(scale))
