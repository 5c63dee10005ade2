"""Convolutions, and transposed ones."""

from __future__ import annotations

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.window import Pair, Window


def check_groups(layer: ImportedLayer, group: int, channels: int, outputs: int) -> None:
    """Refuses groups that do not divide the channels, or the outputs."""
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
    """x: [n, c, h, w], weight: [m, c / group, kh, kw], bias: [m]."""
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
    """x: [n, c, h, w], weight: [c, m / group, kh, kw], bias: [m]; padding is cut off the result."""
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
    """What is not an operand yet becomes a new constant."""
    return [
        x if isinstance(x, Value) else layer.constant(x, role)
        for x, role in ((weight, "weight"), (bias, "bias"))
        if x is not None
    ]
