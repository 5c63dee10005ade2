"""Convolution and transposed convolution."""

from __future__ import annotations

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.window import Pair, Window


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


def _operands(layer: ImportedLayer, weight: Operand, bias: Operand | None) -> list[Value]:
    """The weight and the bias as tensors of the program."""
    return [
        x if isinstance(x, Value) else layer.constant(x, role)
        for x, role in ((weight, "weight"), (bias, "bias"))
        if x is not None
    ]
