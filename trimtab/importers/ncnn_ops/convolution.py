"""Convolution and deconvolution, with groups."""

from __future__ import annotations

from trimtab.importers._graph import Array, Operand
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops import quantization
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary.convolution import check_groups, convolve, deconvolve
from trimtab.importers.vocabulary.movement import padded
from trimtab.importers.vocabulary.window import NO_PADS, Pads, Pair, Window, split_padding

# Padding values that mean SAME padding, with an odd pixel at the end or at the beginning.
SAME_UPPER, SAME_LOWER = -233, -234


def pair(layer: NcnnLayer, key: int, default: int) -> Pair:
    """Height (parameter `key` + 10, by default the width) and width (parameter `key`)."""
    width = layer.param.integer(key, default)
    return layer.param.integer(key + 10, width), width


def _window(layer: NcnnLayer) -> Window:
    """The window of a convolution; its padding may be SAME_UPPER or SAME_LOWER."""
    padding = pads(layer, 4, 14, 15, 16)
    window = Window(pair(layer, 1, 0), pair(layer, 3, 1), padding, pair(layer, 2, 1))
    window.check(layer)
    return window


def pads(layer: NcnnLayer, left: int, top: int, right: int, bottom: int) -> Pads:
    """Padding at the top, left, bottom and right, from the parameters with these numbers."""
    x0 = layer.param.integer(left, 0)
    y0 = layer.param.integer(top, x0)
    x1, y1 = layer.param.integer(right, x0), layer.param.integer(bottom, y0)
    return y0, x0, y1, x1


def _reject_dynamic(layer: NcnnLayer) -> None:
    if layer.param.integer(19, 0) or layer.param.integer(28, 0):
        raise layer.unsupported("its weights are computed (dynamic_weight)")


def _operands(
    layer: NcnnLayer, channels: int, kernel: Pair, group: int, transposed: bool
) -> tuple[Array, Array | None]:
    """The weights, which files store by group, output, input, row and column, and the bias."""
    outputs = layer.param.integer(0, 0)
    check_groups(layer, group, channels, outputs)
    count = layer.param.integer(6, 0)
    expected = outputs * (channels // group) * kernel[0] * kernel[1]
    if count != expected:
        raise layer.invalid(f"it announces {count} weights, {expected} are needed")
    shape = (group, outputs // group, channels // group, *kernel)
    weight = layer.weights(shape, "weights", int8=quantization.is_quantized(layer))
    if transposed:
        weight = weight.swapaxes(1, 2).reshape(channels, outputs // group, *kernel)
    else:
        weight = weight.reshape(outputs, channels // group, *kernel)
    return weight, layer.raw_weights((outputs,), "bias") if layer.param.integer(5, 0) else None


@handles("Convolution", "ConvolutionDepthWise")
def convolution(layer: NcnnLayer) -> Results:
    """x: [1, c, h, w], or [1, c] for a 1x1 kernel, with any padding value; float32 or int8
    (int8_scale_term).
    """
    depthwise = layer.type == "ConvolutionDepthWise"
    group = layer.param.integer(7, 1) if depthwise else 1
    _reject_dynamic(layer)
    window = _window(layer)
    source = layer.x()
    vector = len(source.shape) == 2 and window.kernel == (1, 1) and layer.type == "Convolution"
    x = layer.reshape(source, (*source.shape, 1, 1)) if vector else layer.image()
    weight: Operand
    weight, bias = _operands(layer, x.shape[1], window.kernel, group, transposed=False)
    int8 = None
    if quantization.is_quantized(layer):
        if layer.param.real(18, 0.0):
            raise layer.unsupported("it is quantized and has a padding value other than 0")
        int8 = quantization.read(layer, weight, group if depthwise else None)
        x, weight = int8.rounded(layer, x), int8.weight
    if set(window.pads) <= {SAME_UPPER, SAME_LOWER}:
        window = window.same(x.shape[2:], lower=window.pads[0] == SAME_LOWER)
    if value := layer.param.real(18, 0.0):
        x = padded(layer, x, {2: window.pads[0::2], 3: window.pads[1::2]}, value=value)
        window = window.padded(NO_PADS)
    y = layer.activate(convolve(layer, x, weight, bias, window, group))
    y = int8.result(layer, y) if int8 else y
    return layer.reshape(y, y.shape[:2]) if vector else y


@handles("Deconvolution", "DeconvolutionDepthWise")
def deconvolution(layer: NcnnLayer) -> Results:
    """Transposed convolution; padding, or a requested size, crops the result."""
    group = layer.param.integer(7, 1) if layer.type == "DeconvolutionDepthWise" else 1
    _reject_dynamic(layer)
    if quantization.is_quantized(layer):
        raise layer.unsupported("its weights are quantized to 8-bit integers")
    window = _window(layer)
    operands = _operands(layer, layer.image().shape[1], window.kernel, group, transposed=True)
    right = layer.param.integer(18, 0)
    extra = (layer.param.integer(19, right), right)
    size = (layer.param.integer(21, layer.param.integer(20, 0)), layer.param.integer(20, 0))
    padding = window.pads
    if min(size) > 0 and max(padding) <= 0:
        full = [n + e for n, e in zip(window.full_size(layer.x().shape[2:]), extra, strict=True)]
        surplus = [f - n for f, n in zip(full, size, strict=True)]
        if min(surplus) < 0:
            raise layer.unsupported(f"its result is {full}, smaller than its output {list(size)}")
        if not {SAME_UPPER, SAME_LOWER}.isdisjoint(padding):
            padding = split_padding(surplus, lower=SAME_UPPER not in padding)
        elif any(surplus):
            raise layer.unsupported("it does not specify where to crop its result")
    window = window.padded(tuple(0 if n in (SAME_UPPER, SAME_LOWER) else n for n in padding))
    return layer.activate(deconvolve(layer, layer.image(), *operands, window, group, extra))
