"""Convolution and deconvolution, with groups, and the windows that they read."""

from __future__ import annotations

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops import quantization
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary.convolution import (
    check_groups,
    convolve,
    deconvolve,
    fold,
    unfold,
)
from trimtab.importers.vocabulary.deformation import deformed
from trimtab.importers.vocabulary.movement import padded
from trimtab.importers.vocabulary.window import (
    NO_PADS,
    Pads,
    Pair,
    Window,
    from_image,
    split_padding,
    to_image,
)

# Padding values that mean SAME padding, with an odd pixel at the end or at the beginning.
SAME_UPPER, SAME_LOWER = -233, -234


def pair(layer: NcnnLayer, stem: str, default: int) -> Pair:
    """Height (parameter `stem`_h, by default the width) and width (parameter `stem`_w)."""
    width = layer.param.integer(f"{stem}_w", default)
    return layer.param.integer(f"{stem}_h", width), width


def _spatial(layer: NcnnLayer) -> int:
    """Number of spatial dimensions: 1 for [c, w], 2 for [c, h, w]."""
    return 1 if layer.type.endswith("1D") else 2


def _image(layer: NcnnLayer) -> Value:
    """The operand as an image; a signal has one row."""
    return layer.image() if _spatial(layer) == 2 else to_image(layer, layer.x(), 1)


def _window(layer: NcnnLayer) -> Window:
    """The window of a convolution; its padding may be SAME_UPPER or SAME_LOWER."""
    if _spatial(layer) == 2:
        shape = pair(layer, "kernel", 0), pair(layer, "stride", 1)
        window = Window(*shape, pads(layer), pair(layer, "dilation", 1))
    else:
        sizes = {"kernel_w": 0, "stride_w": 1, "dilation_w": 1}
        kernel, stride, dilation = (layer.param.integer(name, n) for name, n in sizes.items())
        left = layer.param.integer("pad_left", 0)
        above = left if left in (SAME_UPPER, SAME_LOWER) else 0
        padding = above, left, above, layer.param.integer("pad_right", left)
        window = Window((1, kernel), (1, stride), padding, (1, dilation))
    window.check(layer)
    return window


def _resolved(window: Window, x: Value) -> Window:
    """The window with the padding that SAME means for an image."""
    if set(window.pads) <= {SAME_UPPER, SAME_LOWER}:
        return window.same(x.shape[2:], lower=window.pads[0] == SAME_LOWER)
    return window


def pads(layer: NcnnLayer) -> Pads:
    """Padding at the top, left, bottom and right."""
    left = layer.param.integer("pad_left", 0)
    top = layer.param.integer("pad_top", left)
    right, bottom = layer.param.integer("pad_right", left), layer.param.integer("pad_bottom", top)
    return top, left, bottom, right


def _reject_dynamic(layer: NcnnLayer) -> None:
    """Rejects weights that are operands."""
    if layer.param.integer("dynamic_weight", 0):
        raise layer.unsupported("its weights are computed (dynamic_weight)")


def _operands(
    layer: NcnnLayer, channels: int, kernel: Pair, group: int, transposed: bool
) -> tuple[Array, Array | None]:
    """The weights, which files store by group, output, input, row and column, and the bias."""
    outputs = layer.param.integer("num_output", 0)
    check_groups(layer, group, channels, outputs)
    count = layer.param.integer("weight_data_size", 0)
    expected = outputs * (channels // group) * kernel[0] * kernel[1]
    if count != expected:
        raise layer.invalid(f"it announces {count} weights, {expected} are needed")
    shape = (group, outputs // group, channels // group, *kernel)
    weight = layer.weights(shape, "weights", int8=quantization.is_quantized(layer))
    if transposed:
        weight = weight.swapaxes(1, 2).reshape(channels, outputs // group, *kernel)
    else:
        weight = weight.reshape(outputs, channels // group, *kernel)
    has_bias = layer.param.integer("bias_term", 0)
    return weight, layer.raw_weights((outputs,), "bias") if has_bias else None


@handles("Convolution", "ConvolutionDepthWise", "Convolution1D", "ConvolutionDepthWise1D")
def convolution(layer: NcnnLayer) -> Results:
    """x: [1, c, (h,) w], or [1, c] for a 1x1 kernel, with any padding value; float32 or, of images,
    int8 (int8_scale_term).
    """
    depthwise = layer.type.startswith("ConvolutionDepthWise")
    group = layer.param.integer("group", 1) if depthwise else 1
    _reject_dynamic(layer)
    window = _window(layer)
    source = layer.x()
    vector = len(source.shape) == 2 and window.kernel == (1, 1) and layer.type == "Convolution"
    x = layer.reshape(source, (*source.shape, 1, 1)) if vector else _image(layer)
    weight: Operand
    weight, bias = _operands(layer, x.shape[1], window.kernel, group, transposed=False)
    int8 = None
    if quantization.is_quantized(layer):
        if _spatial(layer) == 1:
            raise layer.unsupported("it is one-dimensional and quantized")
        if layer.param.real("pad_value", 0.0):
            raise layer.unsupported("it is quantized and has a padding value other than 0")
        int8 = quantization.read(layer, weight, group if depthwise else None)
        x, weight = int8.rounded(layer, x), int8.weight
    window = _resolved(window, x)
    if value := layer.param.real("pad_value", 0.0):
        x = padded(layer, x, {2: window.pads[0::2], 3: window.pads[1::2]}, value=value)
        window = window.padded(NO_PADS)
    y = layer.activate(convolve(layer, x, weight, bias, window, group))
    y = int8.result(layer, y) if int8 else y
    return (
        layer.reshape(y, y.shape[:2]) if vector else from_image(layer, y, _spatial(layer), source)
    )


@handles("Deconvolution", "DeconvolutionDepthWise", "Deconvolution1D", "DeconvolutionDepthWise1D")
def deconvolution(layer: NcnnLayer) -> Results:
    """Transposed convolution; padding, or a requested size, crops the result, and output padding
    extends it.
    """
    depthwise = layer.type.startswith("DeconvolutionDepthWise")
    group = layer.param.integer("group", 1) if depthwise else 1
    _reject_dynamic(layer)
    if quantization.is_quantized(layer):
        raise layer.unsupported("its weights are quantized to 8-bit integers")
    window, x, signal = _window(layer), _image(layer), _spatial(layer) == 1
    operands = _operands(layer, x.shape[1], window.kernel, group, transposed=True)
    p = layer.param
    right, width = p.integer("output_pad_right", 0), p.integer("output_w", 0)
    extra = (0 if signal else p.integer("output_pad_bottom", right), right)
    size = (min(width, 1) if signal else p.integer("output_h", width), width)
    padding = window.pads
    if min(size) > 0 and max(padding) <= 0:
        full = [n + e for n, e in zip(window.full_size(x.shape[2:]), extra, strict=True)]
        surplus = [f - n for f, n in zip(full, size, strict=True)]
        if min(surplus) < 0:
            raise layer.unsupported(f"its result is {full}, smaller than its output {list(size)}")
        if not {SAME_UPPER, SAME_LOWER}.isdisjoint(padding):
            padding = split_padding(surplus, lower=SAME_UPPER not in padding)
        elif any(surplus):
            raise layer.unsupported("it does not specify where to crop its result")
    window = window.padded(tuple(0 if n in (SAME_UPPER, SAME_LOWER) else n for n in padding))
    y = layer.activate(deconvolve(layer, x, *operands, window, group, extra))
    return from_image(layer, y, _spatial(layer), layer.x())


@handles("DeformableConv2D")
def deformable_convolution(layer: NcnnLayer) -> Results:
    """x: [c, h, w]; offsets: [taps * 2, rows, columns]; an optional mask: [taps, rows, columns]."""
    x, window = layer.image(), _window(layer)
    weight, bias = _operands(layer, x.shape[1], window.kernel, 1, transposed=False)
    mask = layer.image(2) if len(layer.inputs) > 2 else None
    return layer.activate(deformed(layer, x, weight, bias, layer.image(1), mask, window))


@handles("Unfold")
def unfold_windows(layer: NcnnLayer) -> Results:
    """The pixels of each window as a column, in the order channel, row, column."""
    x, value = layer.image(), layer.param.real("pad_value", 0.0)
    y = unfold(layer, x, _resolved(_window(layer), x), value)
    return layer.reshape(y, (*y.shape[:2], -1))


@handles("Fold")
def fold_windows(layer: NcnnLayer) -> Results:
    """The sums of columns, each the pixels of a window, in an image."""
    x, width = layer.x(), layer.param.integer("output_w", 0)
    if len(x.shape) != 3:
        raise layer.unsupported(f"its input has {len(x.shape) - 1} dimensions, not 2")
    return fold(layer, x, (layer.param.integer("output_h", width), width), _window(layer))
