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

_KINDS: tuple[pools.Kind, ...] = ("max", "average")

_MAX_LEVELS = 10  # of a pyramid: 2^9 bins per axis

# The values of pad_mode.
_FULL, _VALID, _SAME_UPPER, _SAME_LOWER = range(4)


@handles("Pooling")
def pooling(layer: NcnnLayer) -> Results:
    """Pools with a window, over the whole image (the result is a vector), or to a given size."""
    kind = layer.param.integer(0, 0)
    if kind not in (0, 1):
        raise layer.unsupported(f"its pooling_type {kind} is not known")
    x = layer.image()
    if layer.param.integer(4, 0):
        # Files contain window parameters that have no effect here.
        layer.param.read.update(layer.param.params)
        y = pools.adaptive_pool(layer, _KINDS[kind], x, (1, 1))
        return layer.reshape(y, y.shape[:2])
    if layer.param.integer(7, 0):
        layer.param.read.update(layer.param.params)
        return _adaptive(layer, x, _KINDS[kind])
    window = Window(pair(layer, 1, 0), pair(layer, 2, 1), pads(layer, 3, 13, 14, 15))
    return _windowed(layer, x, _KINDS[kind], window)


@handles("Pooling1D")
def pooling_1d(layer: NcnnLayer) -> Results:
    """Pools the rows of a matrix with a window, whole (the result is a vector), or to a size."""
    p, kind = layer.param, layer.param.integer(0, 0)
    if kind not in (0, 1):
        raise layer.unsupported(f"its pooling_type {kind} is not known")
    image = to_image(layer, layer.x(), 1)
    if p.integer(4, 0):
        p.read.update(p.params)
        y = pools.adaptive_pool(layer, _KINDS[kind], image, (1, 1))
        return layer.reshape(y, y.shape[:2])
    if p.integer(7, 0):
        p.read.update(p.params)
        y = pools.adaptive_pool(layer, _KINDS[kind], image, (1, p.integer(8, 0)))
        return from_image(layer, y, 1, layer.x())
    left = p.integer(3, 0)
    padding = 0, left, 0, p.integer(14, left)
    window = Window((1, p.integer(1, 0)), (1, p.integer(2, 1)), padding)
    y = _windowed(layer, image, _KINDS[kind], window)
    return from_image(layer, y, 1, layer.x())


def _adaptive(layer: NcnnLayer, x: Value, kind: pools.Kind) -> Value:
    width = layer.param.integer(8, 0)
    size = (layer.param.integer(18, width), width)
    height, width = (n if out == NONE else out for out, n in zip(size, x.shape[2:], strict=True))
    return pools.adaptive_pool(layer, kind, x, (height, width))


def _windowed(layer: NcnnLayer, x: Value, kind: pools.Kind, window: Window) -> Value:
    mode = layer.param.integer(5, 0)
    counted = bool(layer.param.integer(6, 0))
    window.check(layer)
    if min(window.pads) < 0 or max(window.pads) >= 2**24:
        raise layer.invalid(f"its padding is {window.pads}")
    size, ceil_mode = x.shape[2:], mode == _FULL
    if ceil_mode:
        padding = window.pads
        room = [size[i] + padding[i] + padding[2 + i] - window.kernel[i] for i in range(2)]
        ends = [padding[2 + i] + -room[i] % window.strides[i] for i in range(2)]
        filled = window.padded((*padding[:2], *ends))
        if filled != window.filled(size):
            # The last window lies outside of the image, which ncnn allows.
            window, ceil_mode = filled, False
    elif mode in (_SAME_UPPER, _SAME_LOWER):
        if any(window.pads):
            raise layer.unsupported("it has padding beside pad_mode")
        window = window.same(size, lower=mode == _SAME_LOWER)
        counted = True
    elif mode != _VALID:
        raise layer.unsupported(f"its pad_mode {mode} is not known")
    counts = {"count_include_pad": counted, "count_overhang": counted}
    return pools.pool(layer, kind, x, window, ceil_mode=ceil_mode, **counts)


@handles("SPP")
def spatial_pyramid(layer: NcnnLayer) -> Results:
    """Pools to 1 x 1, 2 x 2, 4 x 4, ... bins, which become one vector (He et al. 2014). Bins beyond
    the image read zeros.
    """
    kind, levels, x = layer.param.integer(0, 0), layer.param.integer(1, 1), layer.image()
    if kind not in (0, 1):
        raise layer.unsupported(f"its pooling_type {kind} is not known")
    if not 1 <= levels <= _MAX_LEVELS:
        raise layer.invalid(f"it has {levels} levels, not 1 to {_MAX_LEVELS}")
    pooled = [_bins(layer, _KINDS[kind], x, 2**level) for level in range(levels)]
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
    kind = layer.param.integer(0, 0)
    aligned = bool(layer.param.integer(6, 0))
    scales = (layer.param.real(1, 1.0), layer.param.real(2, 1.0))
    output = (layer.param.integer(3, 0), layer.param.integer(4, 0))
    expression = layer.param.text(9)
    x = layer.x()
    shape = x.shape
    size = (1, 1, *shape)[-2:] if len(shape) > 2 else (1, 1)
    sizes: tuple[int, ...] = output
    exact = True
    if expression:
        values = evaluate(layer, expression)
        if len(values) not in (1, 2):
            raise layer.invalid(f"its size has {len(values)} dimensions")
        sizes = (values[1] if len(values) > 1 else size[0], values[0])
    elif layer.param.integer(5, 0):
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
    if sizes != x.shape[2:] and kind not in (1, 2, 3):
        raise layer.unsupported(f"its resize_type is {kind}")
    if kind == 3:
        y = _bicubic(layer, x, sizes, "align_corners" if aligned else "half_pixel")
        return layer.reshape(y, y.shape[1:]) if len(shape) == 3 else y
    mode, coordinates = "nearest", "asymmetric"
    if kind == 2:
        mode, coordinates = "linear", "align_corners" if aligned else "half_pixel"
    y = resize(layer, x, sizes, mode, coordinates, scales=() if exact else scales)
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
