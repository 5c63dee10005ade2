"""Convolution and transposed convolution."""

from __future__ import annotations

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
    common = {
        "kernel_shape": window.kernel,
        "strides": window.strides,
        "pads": window.pads,
        "dilations": window.dilations,
    }
    if group == c == m:
        # The operator skips its padding, and so products of 0 and weights that are not finite.
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
        kernel_shape=window.kernel,
        strides=window.strides,
        pads=window.pads,
        dilations=window.dilations,
        group=group,
    )


def _operands(layer: ImportedLayer, weight: Operand, bias: Operand | None) -> list[Value]:
    """The weight and the bias as tensors of the program."""
    return [
        x if isinstance(x, Value) else layer.constant(x, role)
        for x, role in ((weight, "weight"), (bias, "bias"))
        if x is not None
    ]
