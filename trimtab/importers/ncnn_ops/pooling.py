"""Pooling, by ncnn's rules of padding, and resizing."""

from __future__ import annotations

import numpy as np

from trimtab.importers._adaptive_pool import MOST_WINDOWS, adaptive_pool
from trimtab.importers._layers import Value, Values
from trimtab.importers.ncnn_ops.convolution import pads, pair, same_pads, same_totals
from trimtab.importers.ncnn_ops.expression import evaluate
from trimtab.importers.ncnn_ops.layer import NONE, Layer, handles

_KINDS = ("max", "average")

# What parameter 5 says about padding.
_FULL, _VALID, _SAME_UPPER, _SAME_LOWER = range(4)


@handles("Pooling")
def pooling(layer: Layer) -> Values:
    """Over a window, over everything (the result has one dimension), or to a given size."""
    kind = layer.param.integer(0, 0)
    if kind not in (0, 1):
        raise layer.unsupported(f"its pooling_type {kind} is not known")
    x = layer.image()
    if layer.param.integer(4, 0):
        # Windows that do not matter are written nevertheless.
        layer.param.read.update(layer.param.params)
        y = layer.add(f"global_{_KINDS[kind]}_pool", x)
        return layer.reshape(y, y.shape[:2])
    if layer.param.integer(7, 0):
        layer.param.read.update(layer.param.params)
        return _adaptive(layer, x, kind)
    return _windowed(layer, x, kind)


def _adaptive(layer: Layer, x: Value, kind: int) -> Value:
    width = layer.param.integer(8, 0)
    wanted = (layer.param.integer(18, width), width)
    height, width = (
        n if given == NONE else given for given, n in zip(wanted, x.shape[2:], strict=True)
    )
    if min(height, width) < 1:
        raise layer.invalid(f"its size is {height} x {width}")
    if max(height, width) > MOST_WINDOWS:
        raise layer.unsupported(f"its size is {height} x {width}")
    return adaptive_pool(
        layer.add, layer.constant, x, (height, width), "average" if kind else "max"
    )


def _windowed(layer: Layer, x: Value, kind: int) -> Value:
    kernel, strides = pair(layer, 1, 0), pair(layer, 2, 1)
    border = pads(layer, 3, 13, 14, 15)
    mode = layer.param.integer(5, 0)
    counted = bool(layer.param.integer(6, 0))
    if min(*kernel, *strides) < 1 or min(border) < 0 or max(border) >= 2**24:
        raise layer.invalid(f"its window is {kernel}, its stride {strides}, its padding {border}")
    size = x.shape[2:]
    if mode == _FULL:
        # The last window is filled up.
        y0, x0, y1, x1 = border
        y1 += -(size[0] + y0 + y1 - kernel[0]) % strides[0]
        x1 += -(size[1] + x0 + x1 - kernel[1]) % strides[1]
        border = (y0, x0, y1, x1)
    elif mode in (_SAME_UPPER, _SAME_LOWER):
        if any(border):
            raise layer.unsupported("it has padding beside pad_mode")
        border = same_pads(same_totals(size, kernel, strides), lower=mode == _SAME_LOWER)
        counted = True
    elif mode != _VALID:
        raise layer.unsupported(f"its pad_mode {mode} is not known")
    window = {"kernel_shape": kernel, "strides": strides}
    if kind == 0:
        return layer.add("max_pool", x, pads=border, **window)
    return layer.add("average_pool", x, pads=border, count_include_pad=counted, **window)


@handles("Interp")
def interp(layer: Layer) -> Values:
    """Resizes images by nearest pixels or linearly; a vector [1, c] is spread over an image."""
    kind = layer.param.integer(0, 0)
    aligned = bool(layer.param.integer(6, 0))
    scales = (layer.param.real(1, 1.0), layer.param.real(2, 1.0))
    given = (layer.param.integer(3, 0), layer.param.integer(4, 0))
    expression = layer.param.text(9)
    x = layer.x()
    shape = x.shape
    size = (1, 1, *shape)[-2:] if len(shape) > 2 else (1, 1)
    sizes: tuple[int, ...] = given
    exact = True
    if expression:
        wanted = evaluate(layer, expression)
        if len(wanted) not in (1, 2):
            raise layer.invalid(f"its size has {len(wanted)} dimensions")
        sizes = (wanted[1] if len(wanted) > 1 else size[0], wanted[0])
    elif layer.param.integer(5, 0):
        sizes = (1, *layer.x(1).shape)[-2:]
    elif 0 in given:
        sizes = tuple(_scaled(layer, n, s) for n, s in zip(size, scales, strict=True))
        exact = False
    if len(shape) == 2:
        image = layer.reshape(x, (*shape, 1, 1))
        return layer.add("expand", image, shape=(*shape, *sizes))
    if len(shape) == 3:
        sizes = (shape[1], sizes[1])
        x = layer.reshape(x, (1, *shape))
    elif len(shape) != 4:
        raise layer.unsupported(f"its input has {len(shape) - 1} dimensions")
    y = _resize(layer, x, sizes, kind, aligned, () if exact else scales)
    return layer.reshape(y, y.shape[1:]) if len(shape) == 3 else y


def _scaled(layer: Layer, size: int, scale: float) -> int:
    if not 0 < scale < 2**20:
        raise layer.invalid(f"its scale is {scale}")
    return int(np.float32(size) * np.float32(scale))


def _resize(
    layer: Layer,
    x: Value,
    sizes: tuple[int, ...],
    kind: int,
    aligned: bool,
    scales: tuple[float, ...],
) -> Value:
    if sizes == x.shape[2:]:
        return x
    if kind == 1:
        return layer.add(
            "resize",
            x,
            sizes=sizes,
            scales=scales,
            mode="nearest",
            coordinate_mode="asymmetric",
            nearest_mode="floor",
        )
    if kind == 2:
        mode = "align_corners" if aligned else "half_pixel"
        return layer.add(
            "resize", x, sizes=sizes, scales=scales, mode="linear", coordinate_mode=mode
        )
    raise layer.unsupported("it is bicubic" if kind == 3 else f"its resize_type is {kind}")
