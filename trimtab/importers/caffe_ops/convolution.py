"""Convolution, Deconvolution, InnerProduct, and what forks of Caffe call them."""

from __future__ import annotations

import math

from trimtab.importers._layers import Value, Values
from trimtab.importers.caffe_ops.layer import Layer, handles
from trimtab.importers.caffe_ops.prototxt import Message

Pair = tuple[int, int]


def spatial(layer: Layer, param: Message, name: str, stem: str, default: int | None) -> Pair:
    """Height and width: `stem`_h and `stem`_w, or the repeated field `name`."""
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
        raise layer.invalid(f"its {name} is {pair}")
    return pair


@handles("Convolution", "Deconvolution", "DepthwiseConvolution", "ConvolutionDepthwise")
def convolution(layer: Layer) -> Values:
    """Every bottom [n, c, h, w] by the same weights; Deconvolution stores them [c, m / g, h, w]."""
    param = layer.param("convolution_param")
    if param.integer("axis", 1) not in (1, -3):
        raise layer.unsupported("its axis is not 1")
    kernel = spatial(layer, param, "kernel_size", "kernel", None)
    pads = spatial(layer, param, "pad", "pad", 0)
    channels = layer.image().shape[1]
    outputs = param.integer("num_output", 0)
    # Forks for depthwise convolution have layers that do not repeat the number of channels.
    group = param.integer("group", channels if layer.type == "ConvolutionDepthwise" else 1)
    if group < 1 or outputs < 1 or channels % group or outputs % group:
        raise layer.invalid(f"{group} groups do not divide {channels} inputs, {outputs} outputs")
    transposed = layer.type == "Deconvolution"
    shape = (channels, outputs // group) if transposed else (outputs, channels // group)
    operands = [layer.constant(layer.blob(0, (*shape, *kernel), "weights"), "weight")]
    if param.boolean("bias_term", True):
        operands.append(layer.constant(layer.blob(1, (outputs,), "bias"), "bias"))
    return [
        layer.add(
            "conv_transpose" if transposed else "conv",
            layer.image(i),
            *operands,
            strides=spatial(layer, param, "stride", "stride", 1),
            pads=(*pads, *pads),
            dilations=spatial(layer, param, "dilation", "dilation", 1),
            group=group,
        )
        for i in range(len(layer.bottoms))
    ]


@handles("InnerProduct")
def inner_product(layer: Layer) -> Values:
    """Dimensions from the axis on are one vector."""
    param = layer.param("inner_product_param")
    axis = layer.axis(param.integer("axis", 1))
    outputs = param.integer("num_output", 0)
    lead, length = layer.x().shape[:axis], math.prod(layer.x().shape[axis:])
    if param.boolean("transpose", False):
        weight = layer.blob(0, (length, outputs), "weights").T
    else:
        weight = layer.blob(0, (outputs, length), "weights")
    operands = [layer.constant(weight, "weight")]
    if param.boolean("bias_term", True):
        operands.append(layer.constant(layer.blob(1, (outputs,), "bias"), "bias"))
    results: list[Value] = []
    for i in range(len(layer.bottoms)):
        rows = layer.reshape(layer.x(i), (math.prod(lead), length))
        results.append(layer.reshape(layer.add("gemm", rows, *operands), (*lead, outputs)))
    return results
