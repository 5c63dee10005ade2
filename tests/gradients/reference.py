"""Forward computations in float64, for central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def windows(x: Array, kernel: Sequence[int], value: float = 0, **attributes: Any) -> Array:
    """The taps of every window: [n, c, taps, h_out, w_out]; windows past the padding are filled."""
    stride, dilation = attributes.get("strides", (1, 1)), attributes.get("dilations", (1, 1))
    top, left, bottom, right = attributes.get("pads", (0, 0, 0, 0))
    ends = [top + bottom + x.shape[2], left + right + x.shape[3]]
    size = []
    for axis in (0, 1):
        room = ends[axis] - (kernel[axis] - 1) * dilation[axis] - 1
        count = room // stride[axis] + 1
        if attributes.get("ceil_mode") and room % stride[axis]:
            begins_inside = count * stride[axis] < x.shape[2 + axis] + (top, left)[axis]
            count += begins_inside
        size.append(count)
    padded = np.full((*x.shape[:2], ends[0] + 99, ends[1] + 99), value, np.float64)
    padded[:, :, top : top + x.shape[2], left : left + x.shape[3]] = x
    taps = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            rows = i * dilation[0] + np.arange(size[0]) * stride[0]
            columns = j * dilation[1] + np.arange(size[1]) * stride[1]
            taps.append(padded[:, :, rows[:, None], columns])
    return np.stack(taps, 2)


def conv(x: Array, w: Array, b: Array | None = None, group: int = 1, **attributes: Any) -> Array:
    """Convolution."""
    taps = windows(x, w.shape[2:], **attributes)
    n, channels, count, height, width = taps.shape
    taps = taps.reshape(n, group, channels // group, count, height, width)
    weights = w.reshape(group, w.shape[0] // group, w.shape[1], count)
    y: Array = np.einsum("ngcthw,gdct->ngdhw", taps, weights).reshape(n, -1, height, width)
    return y if b is None else y + b[:, None, None]


def conv_transpose(
    x: Array, w: Array, b: Array | None = None, group: int = 1, **attributes: Any
) -> Array:
    """Transposed convolution: the adjoint of the convolution, one input pixel after the other."""
    stride, dilation = attributes.get("strides", (1, 1)), attributes.get("dilations", (1, 1))
    top, left, bottom, right = attributes.get("pads", (0, 0, 0, 0))
    extra = attributes.get("output_padding", (0, 0))
    n, channels, height, width = x.shape
    _, per_group, kh, kw = w.shape
    full = np.zeros(
        (
            n,
            group * per_group,
            (height - 1) * stride[0] + (kh - 1) * dilation[0] + 1 + extra[0],
            (width - 1) * stride[1] + (kw - 1) * dilation[1] + 1 + extra[1],
        )
    )
    x = x.reshape(n, group, channels // group, height, width)
    w = w.reshape(group, channels // group, per_group, kh, kw)
    for i in range(height):
        for j in range(width):
            term = np.einsum("ngc,gcdhw->ngdhw", x[..., i, j], w).reshape(n, -1, kh, kw)
            rows = slice(i * stride[0], i * stride[0] + (kh - 1) * dilation[0] + 1, dilation[0])
            columns = slice(j * stride[1], j * stride[1] + (kw - 1) * dilation[1] + 1, dilation[1])
            full[:, :, rows, columns] += term
    y: Array = full[:, :, top : full.shape[2] - bottom, left : full.shape[3] - right]
    return y if b is None else y + b[:, None, None]


def max_pool(x: Array, kernel_shape: Sequence[int], **attributes: Any) -> Array:
    """Maximum over windows."""
    return np.asarray(windows(x, kernel_shape, -np.inf, **attributes).max(2), np.float64)


def average_pool(
    x: Array, kernel_shape: Sequence[int], count_include_pad: bool = False, **attributes: Any
) -> Array:
    """Mean over windows."""
    total = windows(x, kernel_shape, **attributes).sum(2)
    inside = np.ones(x.shape)
    if count_include_pad:
        top, left, bottom, right = attributes["pads"]
        inside = np.pad(inside, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=1)
        attributes = {**attributes, "pads": (0, 0, 0, 0)}
    return np.asarray(total / windows(inside, kernel_shape, **attributes).sum(2), np.float64)


def softmax(x: Array, axis: int = -1) -> Array:
    """Softmax."""
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True), np.float64)


def normalized(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """Mean 0 and variance 1 along axes."""
    deviation = np.sqrt(x.var(axes, keepdims=True) + epsilon)
    return np.asarray((x - x.mean(axes, keepdims=True)) / deviation, np.float64)


def resize(
    x: Array,
    sizes: tuple[int, int],
    mode: str,
    coordinate_mode: str = "half_pixel",
    nearest_mode: str = "floor",
) -> Array:
    """Resampling, one axis after the other."""
    for axis, result in zip((2, 3), sizes, strict=True):
        size = x.shape[axis]
        place: Array = np.arange(result, dtype=np.float64)
        match coordinate_mode:
            case "half_pixel":
                place = (place + 0.5) * size / result - 0.5
            case "align_corners":
                place = place * (size - 1) / (result - 1)
            case "asymmetric":
                place = place * size / result
        low = np.floor(place).astype(int)
        share = place - low if mode == "linear" else np.zeros(result)
        matrix = np.zeros((result, size))
        rows = np.arange(result)
        np.add.at(matrix, (rows, np.clip(low, 0, size - 1)), 1 - share)
        np.add.at(matrix, (rows, np.clip(low + 1, 0, size - 1)), share)
        x = np.moveaxis(np.tensordot(x, matrix, (axis, 1)), -1, axis)
    return x


def im2col(x: Any, *, group: int, kernel_shape: tuple[int, int], **rest: Any) -> Any:
    """Rows of the taps of each window, by group."""
    taps = windows(x, kernel_shape, **rest)
    n, c, t, h, w = taps.shape
    split = taps.reshape(n, group, c // group, t, h, w).transpose(1, 0, 4, 5, 3, 2)
    return split.reshape(group, n * h * w, t * c // group)


def col2im(shape: tuple[int, ...], **arguments: Any) -> Callable[[Any], Any]:
    """The adjoint of im2col, by its matrix."""
    basis = np.eye(int(np.prod(shape))).reshape(-1, *shape)
    matrix = np.stack([im2col(image, **arguments).ravel() for image in basis])
    return lambda rows: (matrix @ rows.ravel()).reshape(shape)
