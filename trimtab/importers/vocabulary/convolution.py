"""Convolution and transposed convolution, and the windows that they read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary import movement
from trimtab.importers.vocabulary.window import NO_PADS, Pair, Window


def check_groups(layer: ImportedLayer, group: int, channels: int, outputs: int) -> None:
    """Rejects groups that do not divide the input and output channels."""
    if group < 1 or outputs < 1 or channels % group or outputs % group:
        raise layer.invalid(f"{group} groups do not divide {channels} inputs, {outputs} outputs")


def convolve(
    layer: ImportedLayer,
    x: Value,
    weight: Operand,
    bias: Operand | None,
    window: Window,
    group: int,
) -> Value:
    """Convolves x: [n, c, h, w] with weight: [m, c / group, kh, kw] and bias: [m]."""
    return layer.add(
        "conv",
        x,
        *_operands(layer, weight, bias),
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        group=group,
    )


def deconvolve(
    layer: ImportedLayer,
    x: Value,
    weight: Operand,
    bias: Operand | None,
    window: Window,
    group: int,
    output_padding: Pair = (0, 0),
) -> Value:
    """Transposed convolution of x: [n, c, h, w] with weight: [c, m / group, kh, kw], bias: [m].

    The padding of `window` crops the result.
    """
    return layer.add(
        "conv_transpose",
        x,
        *_operands(layer, weight, bias),
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        output_padding=output_padding,
        group=group,
    )


def convolve_computed(
    layer: ImportedLayer, x: Value, weight: Value, window: Window, group: int
) -> Value:
    """Convolves x: [n, c, h, w] with computed weights [m, c / group, kh, kw]."""
    (n, c), (m, depth) = x.shape[:2], weight.shape[:2]
    check_groups(layer, group, c, m)
    if depth * group != c:
        raise layer.invalid(f"weights of {depth} channels do not fit {c} in {group} groups")
    common = _attributes(window)
    if group == c == m:
        # Padded explicitly: the operator skips its padding, but 0 times an infinite weight is NaN.
        top, left, bottom, right = window.pads
        x = movement.padded(layer, x, {2: (top, bottom), 3: (left, right)})
        taps = layer.transpose(layer.reshape(weight, (c, -1)), (1, 0))
        common["pads"] = NO_PADS
        return layer.add("computed_depthwise", x, taps, computes="result", **common)
    rows = layer.add("im2col", x, group=group, **common)
    taps = layer.transpose(weight, (0, 2, 3, 1))
    taps = layer.reshape(taps, (group, m // group, rows.shape[2]))
    y = layer.add("mat_mul", taps, rows, transpose_b=True)
    size = window.convolved_size(x.shape[2:])
    y = layer.reshape(y, (m, n, *size))
    return layer.transpose(y, (1, 0, 2, 3)) if n > 1 else layer.reshape(y, (1, m, *size))


def deconvolve_computed(
    layer: ImportedLayer,
    x: Value,
    weight: Value,
    window: Window,
    group: int,
    output_padding: Pair = (0, 0),
) -> Value:
    """Transposed convolution of x: [n, c, h, w] with computed weights [c, m / group, kh, kw]."""
    (n, c, h, w), outputs = x.shape, weight.shape[1] * group
    check_groups(layer, group, c, outputs)
    if weight.shape[0] != c:
        raise layer.invalid(f"weights of {weight.shape[0]} channels do not fit {c}")
    pixels = layer.reshape(x, (n, group, c // group, h * w))
    pixels = layer.reshape(layer.transpose(pixels, (1, 0, 3, 2)), (group, n * h * w, c // group))
    taps = layer.reshape(weight, (group, c // group, weight.shape[1], -1))
    taps = layer.reshape(layer.transpose(taps, (0, 1, 3, 2)), (group, c // group, -1))
    size = [
        (count - 1) * window.strides[i]
        + (window.kernel[i] - 1) * window.dilations[i]
        + 1
        - window.pads[i]
        - window.pads[2 + i]
        + output_padding[i]
        for i, count in enumerate((h, w))
    ]
    return layer.add(
        "col2im",
        layer.add("mat_mul", pixels, taps),
        image_shape=size,
        group=group,
        **_attributes(window),
    )


def unfold(layer: ImportedLayer, x: Value, window: Window, pad_value: float = 0.0) -> Value:
    """The pixels of every window of x: [n, c, h, w], as [n, c * kh * kw, h_out, w_out]."""
    window.check(layer)
    n, c = x.shape[:2]
    size = window.convolved_size(x.shape[2:])
    if min(size) < 1:
        raise layer.invalid(f"its window is larger than the padded image {list(x.shape[2:])}")
    rows = layer.add("im2col", x, pad_value=pad_value, **_attributes(window))
    taps = math.prod(window.kernel)
    y = layer.transpose(layer.reshape(rows, (n, *size, taps, c)), (0, 4, 3, 1, 2))
    return layer.reshape(y, (n, c * taps, *size))


def fold(layer: ImportedLayer, x: Value, size: Sequence[int], window: Window) -> Value:
    """The sums of windows x: [n, c * kh * kw, windows] in an image [n, c, height, width]: the
    reverse of `unfold`.
    """
    window.check(layer)
    counts, taps = window.convolved_size(size), math.prod(window.kernel)
    n, rows, windows = x.shape
    if min(counts) < 1 or math.prod(counts) != windows or rows % taps:
        raise layer.invalid(f"{windows} windows of {rows} values do not fit {list(size)}")
    y = layer.transpose(layer.reshape(x, (n, rows // taps, taps, windows)), (0, 3, 2, 1))
    y = layer.reshape(y, (1, n * windows, rows))
    return layer.add("col2im", y, image_shape=tuple(size), **_attributes(window))


def _attributes(window: Window) -> dict[str, Any]:
    return {
        "kernel_shape": window.kernel,
        "strides": window.strides,
        "pads": window.pads,
        "dilations": window.dilations,
    }


def _operands(layer: ImportedLayer, weight: Operand, bias: Operand | None) -> list[Value]:
    """The weight and the bias as tensors of the program."""
    return [
        x if isinstance(x, Value) else layer.constant(x, role)
        for x, role in ((weight, "weight"), (bias, "bias"))
        if x is not None
    ]
