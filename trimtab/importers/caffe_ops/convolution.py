"""Convolution, Deconvolution, Im2col, InnerProduct, and their names in forks of Caffe."""

from __future__ import annotations

import math

from trimtab.importers._graph import Array
from trimtab.importers._layer import Results
from trimtab.importers.caffe_ops.contract import ANY, takes
from trimtab.importers.caffe_ops.layer import CaffeLayer, handles
from trimtab.importers.caffe_ops.spec import DILATION, KERNEL, PAD, STRIDE, Spatial
from trimtab.importers.vocabulary import matrix, movement
from trimtab.importers.vocabulary.convolution import check_groups, convolve, deconvolve, unfold
from trimtab.importers.vocabulary.window import Pair, Window


def spatial(layer: CaffeLayer, field: Spatial) -> Pair:
    """A vertical and a horizontal value; the field for both is repeated."""
    param, (name, stem, default) = layer.param, field
    if param.has(f"{stem}_h") or param.has(f"{stem}_w"):
        fallback = -1 if default is None else default
        pair = param.integer(f"{stem}_h", fallback), param.integer(f"{stem}_w", fallback)
    else:
        values = param.integers(name)
        if len(values) > 2:
            raise layer.unsupported(f"its {name} has {len(values)} dimensions, not 2")
        if not values and default is None:
            raise layer.invalid(f"it lacks '{name}'")
        values = values or [default or 0]
        pair = values[0], values[-1]
    if min(pair) < 0:
        raise layer.invalid(f"its {name} is {pair}, it must not be negative")
    return pair


def _window(layer: CaffeLayer) -> Window:
    """The window of a convolution over height and width."""
    if layer.param.integer("axis", 1) not in (1, -3):
        raise layer.unsupported("its axis is not 1")
    pads = spatial(layer, PAD)
    kernel, stride, dilation = (spatial(layer, field) for field in (KERNEL, STRIDE, DILATION))
    return Window(kernel, stride, (*pads, *pads), dilation)


@handles("Convolution", "Deconvolution", "DepthwiseConvolution", "ConvolutionDepthwise")
@takes(ANY, ANY, equal=True)
def convolution(layer: CaffeLayer) -> Results:
    """All bottoms share the weights: [m, c / g, h, w], of Deconvolution [c, m / g, h, w]."""
    param = layer.param
    window = _window(layer)
    channels = layer.image().shape[1]
    outputs = param.integer("num_output", 0)
    # ConvolutionDepthwise of some forks has no field `group`: it is the number of channels.
    group = param.integer("group", channels if layer.type == "ConvolutionDepthwise" else 1)
    check_groups(layer, group, channels, outputs)
    transposed = layer.type == "Deconvolution"
    shape = (channels, outputs // group) if transposed else (outputs, channels // group)
    weight = layer.constant(layer.blob(0, (*shape, *window.kernel), "weights"), "weight")
    bias = None
    if param.boolean("bias_term", True):
        bias = layer.constant(layer.blob(1, (outputs,), "bias"), "bias")
    images = [layer.image(i) for i in range(len(layer.inputs))]
    add = deconvolve if transposed else convolve
    return tuple(add(layer, x, weight, bias, window, group) for x in images)


@handles("Im2col")
def im2col(layer: CaffeLayer) -> Results:
    """The pixels of each window as channels, in the order channel, row, column."""
    return unfold(layer, layer.image(), _window(layer))


@handles("InnerProduct")
def inner_product(layer: CaffeLayer) -> Results:
    """Fully connected layer; the axes from `axis` on are flattened."""
    param = layer.param
    axis = layer.axis(param.integer("axis", 1))
    outputs = param.integer("num_output", 0)
    lead, length = layer.x().shape[:axis], math.prod(layer.x().shape[axis:])
    weight: Array
    if param.boolean("transpose", False):
        weight = layer.blob(0, (length, outputs), "weights").T
    else:
        weight = layer.blob(0, (outputs, length), "weights")
    bias = layer.blob(1, (outputs,), "bias") if param.boolean("bias_term", True) else None
    rows = layer.value(movement.flatten_to_matrix(layer, layer.x(), axis))
    return layer.reshape(matrix.linear(layer, rows, weight, bias), (*lead, outputs))
