"""Convolutions, with groups and transposed."""

from __future__ import annotations

from trimtab.importers._layers import Value, Values
from trimtab.importers.ncnn_ops.layer import Layer, handles

Pair = tuple[int, int]
Pads = tuple[int, int, int, int]

# Padding that keeps size / stride; an odd pixel goes to the end, or to the beginning.
SAME_UPPER, SAME_LOWER = -233, -234


def pair(layer: Layer, key: int, default: int) -> Pair:
    """Height (parameter `key` + 10) and width; the width stands for both."""
    width = layer.param.integer(key, default)
    return layer.param.integer(key + 10, width), width


def window(layer: Layer) -> tuple[Pair, Pair, Pair]:
    """Kernel, dilations and strides of a convolution."""
    kernel, dilations, strides = pair(layer, 1, 0), pair(layer, 2, 1), pair(layer, 3, 1)
    if min(*kernel, *dilations, *strides) < 1:
        raise layer.invalid(f"its window is {kernel}, dilations {dilations}, strides {strides}")
    return kernel, dilations, strides


def pads(layer: Layer, left: int, top: int, right: int, bottom: int) -> Pads:
    """Top, left, bottom, right from the parameters with these numbers."""
    x0 = layer.param.integer(left, 0)
    y0 = layer.param.integer(top, x0)
    x1, y1 = layer.param.integer(right, x0), layer.param.integer(bottom, y0)
    return y0, x0, y1, x1


def same_pads(totals: tuple[int, ...], lower: bool) -> Pads:
    """Padding of `totals` (vertical, horizontal) pixels, spread over both sides."""
    small = [max(0, total) // 2 for total in totals]
    large = [max(0, total) - part for total, part in zip(totals, small, strict=True)]
    (y0, x0), (y1, x1) = (large, small) if lower else (small, large)
    return y0, x0, y1, x1


def same_totals(
    size: tuple[int, ...], kernel: Pair, strides: Pair, dilations: Pair = (1, 1)
) -> tuple[int, ...]:
    """Pixels that are missing for an output of size / stride."""
    return tuple(
        (k - 1) * d + 1 + (n - 1) // s * s - n
        for n, k, s, d in zip(size, kernel, strides, dilations, strict=True)
    )


def _check_plain(layer: Layer) -> None:
    if layer.param.integer(8, 0):
        raise layer.unsupported("its weights are quantised to 8-bit integers")
    if layer.param.integer(19, 0) or layer.param.integer(28, 0):
        raise layer.unsupported("its weights are computed (dynamic_weight)")


def _operands(
    layer: Layer, channels: int, kernel: Pair, group: int, transposed: bool
) -> list[Value]:
    """Weights, whose files have them by group, output, input, row and column, and the bias."""
    outputs = layer.param.integer(0, 0)
    if group < 1 or outputs < 1 or channels % group or outputs % group:
        raise layer.invalid(f"{group} groups do not divide {channels} inputs, {outputs} outputs")
    count = layer.param.integer(6, 0)
    expected = outputs * (channels // group) * kernel[0] * kernel[1]
    if count != expected:
        raise layer.invalid(f"it announces {count} weights, {expected} are needed")
    shape = (group, outputs // group, channels // group, *kernel)
    weight = layer.weights(shape, "weights")
    if transposed:
        weight = weight.swapaxes(1, 2).reshape(channels, outputs // group, *kernel)
    else:
        weight = weight.reshape(outputs, channels // group, *kernel)
    operands = [layer.constant(weight, "weight")]
    if layer.param.integer(5, 0):
        operands.append(layer.constant(layer.raw_weights((outputs,), "bias"), "bias"))
    return operands


@handles("Convolution", "ConvolutionDepthWise")
def convolution(layer: Layer) -> Values:
    """x: [1, c, h, w], or [1, c] for a kernel of one pixel; the border may have another value
    than 0.
    """
    group = layer.param.integer(7, 1) if layer.type == "ConvolutionDepthWise" else 1
    _check_plain(layer)
    kernel, dilations, strides = window(layer)
    given = layer.x()
    vector = len(given.shape) == 2 and kernel == (1, 1) and layer.type == "Convolution"
    x = layer.reshape(given, (*given.shape, 1, 1)) if vector else layer.image()
    operands = _operands(layer, x.shape[1], kernel, group, transposed=False)
    border = pads(layer, 4, 14, 15, 16)
    if set(border) <= {SAME_UPPER, SAME_LOWER}:
        totals = same_totals(x.shape[2:], kernel, strides, dilations)
        border = same_pads(totals, lower=border[0] == SAME_LOWER)
    value = layer.param.real(18, 0.0)
    if value and any(border):
        y0, x0, y1, x1 = border
        x = layer.add("pad", x, pads=(0, 0, y0, x0, 0, 0, y1, x1), value=value)
        border = (0, 0, 0, 0)
    y = layer.add(
        "conv", x, *operands, strides=strides, pads=border, dilations=dilations, group=group
    )
    y = layer.activate(y)
    return layer.reshape(y, y.shape[:2]) if vector else y


@handles("Deconvolution", "DeconvolutionDepthWise")
def deconvolution(layer: Layer) -> Values:
    """Padding is cut off the result; a wanted size says how much of it."""
    group = layer.param.integer(7, 1) if layer.type == "DeconvolutionDepthWise" else 1
    _check_plain(layer)
    kernel, dilations, strides = window(layer)
    operands = _operands(layer, layer.image().shape[1], kernel, group, transposed=True)
    right = layer.param.integer(18, 0)
    extra = (layer.param.integer(19, right), right)
    size = (layer.param.integer(21, layer.param.integer(20, 0)), layer.param.integer(20, 0))
    border = pads(layer, 4, 14, 15, 16)
    if min(size) > 0 and max(border) <= 0:
        full = [
            (n - 1) * s + (k - 1) * d + 1 + e
            for n, s, k, d, e in zip(
                layer.x().shape[2:], strides, kernel, dilations, extra, strict=True
            )
        ]
        surplus = tuple(f - wanted for f, wanted in zip(full, size, strict=True))
        if min(surplus) < 0:
            raise layer.unsupported(f"its result is {full}, less than the wanted {list(size)}")
        if not {SAME_UPPER, SAME_LOWER}.isdisjoint(border):
            border = same_pads(surplus, lower=SAME_UPPER not in border)
        elif any(surplus):
            raise layer.unsupported("it does not say where to cut its result")
    border = tuple(0 if n in (SAME_UPPER, SAME_LOWER) else n for n in border)  # type: ignore[assignment]
    return layer.activate(
        layer.add(
            "conv_transpose",
            layer.image(),
            *operands,
            strides=strides,
            pads=border,
            dilations=dilations,
            output_padding=extra,
            group=group,
        )
    )
