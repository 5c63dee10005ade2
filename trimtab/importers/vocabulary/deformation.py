"""Convolutions whose taps are moved by computed offsets."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.convolution import convolve
from trimtab.importers.vocabulary.window import Window

_SWAP = np.array([1, 0])  # rows and columns to x and y


def deformed(
    layer: ImportedLayer,
    x: Value,
    weight: Array,
    bias: Array | None,
    offsets: Value,
    mask: Value | None,
    window: Window,
    group: int = 1,
    offset_group: int = 1,
) -> Value:
    """Convolves linear samples of x: [n, c, h, w] by weight: [m, c / group, kh, kw].

    offsets: [n, offset_group * taps * 2, rows, columns], in pixels, vertical before horizontal;
    mask: [n, offset_group * taps, rows, columns], factors of the samples. Samples outside of the
    image are 0. Source: Zhu et al., "Deformable ConvNets v2", 2018, section 3.
    """
    (n, c, h, w), taps = x.shape, window.kernel[0] * window.kernel[1]
    rows, columns = window.convolved_size((h, w))
    if offset_group < 1 or c % offset_group or min(rows, columns) < 1:
        raise layer.invalid(f"{offset_group} groups of offsets do not divide {c} channels")
    count, images = rows * columns, n * offset_group
    layer.check_shape("offsets", offsets.shape, (n, offset_group * taps * 2, rows, columns))
    layer.check_elements((4, taps, count, 2), 8)
    places = [
        np.arange(window.kernel[i]).reshape(-1, *[1] * (3 - i)) * window.dilations[i]
        + np.arange(out).reshape(-1, *[1] * (1 - i)) * window.strides[i]
        - window.pads[i]
        for i, out in enumerate((rows, columns))
    ]
    grid: Array = np.stack(np.broadcast_arrays(*places), -1).reshape(1, taps, count, 2)
    scale = 2 / np.array((h, w), np.float64)  # from pixels to places whose edges are -1 and 1
    moved = layer.transpose(layer.reshape(offsets, (images, taps, 2, count)), (0, 1, 3, 2))
    moved = layer.add("mul", moved, layer.constant(scale, "scale"))
    moved = layer.add("add", moved, layer.constant(grid * scale + scale / 2 - 1, "grid"))
    moved = layer.add("gather", moved, layer.value(_SWAP), axis=3)
    y = layer.reshape(x, (images, c // offset_group, h, w))
    y = layer.add("grid_sample", y, moved, mode="linear", padding="zeros", align_corners=False)
    if mask is not None:
        y = layer.add("mul", y, layer.reshape(mask, (images, 1, taps, count)))
    y = layer.reshape(y, (n, c * taps, rows, columns))
    flat = np.ascontiguousarray(weight.reshape(weight.shape[0], -1, 1, 1))
    return convolve(layer, y, flat, bias, Window((1, 1)), group)
