"""int8 layers of ncnn: those whose parameter int8_scale_term is not 0.

A scale of ncnn is a factor: q = round(x * scale), halves away from zero, clamped to [-127, 127].
The file has the weights, the float32 bias, the scales of the weights and the scale of the operand.
If the term exceeds 100, the scale of the result follows, which is then int8.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers.ncnn_ops.layer import NcnnLayer
from trimtab.importers.vocabulary.quantization import (
    QuantizedConstant,
    dequantized,
    quantized,
)
from trimtab.program import Quantization

_TERM = "int8_scale_term"
_REQUANTIZES = 100
_ONE_SCALE = 2  # a depthwise convolution with one scale for the weights of all groups
_MAX = 127


@dataclass(frozen=True)
class Int8Layer:
    """The weights of an int8 layer and its quantizations; `y` is None for a float32 result."""

    weight: Operand
    x: Quantization
    y: Quantization | None

    def rounded(self, layer: NcnnLayer, x: Value) -> Value:
        """The operand, rounded to int8 values."""
        return dequantized(layer, quantized(layer, x, self.x, "i8"), self.x)

    def result(self, layer: NcnnLayer, y: Value) -> Value:
        """The result after the activation, rounded to int8 values if the layer requantizes."""
        if self.y is None:
            return y
        return dequantized(layer, quantized(layer, y, self.y, "i8"), self.y)


def is_quantized(layer: NcnnLayer) -> bool:
    """Whether the layer computes on int8 values."""
    return layer.param.integer(_TERM, 0) != 0


def read(layer: NcnnLayer, weight: Array, groups: int | None = None) -> Int8Layer:
    """Reads the scales after weights and bias; `groups` are those of a depthwise layer.

    Float weights [outputs, ...] are rounded, as ncnn does when it loads them.
    """
    term, outputs = layer.param.integer(_TERM, 0), weight.shape[0]
    count = outputs if groups is None else groups
    if groups is not None and term % _REQUANTIZES == _ONE_SCALE:
        count = 1
    scales = layer.raw_weights((count,), "scales of the weights")
    x = _quantization(layer, layer.raw_weights((1,), "scale of the operand"))
    y = None
    if term > _REQUANTIZES:
        y = _quantization(layer, layer.raw_weights((1,), "scale of the result"))
    return Int8Layer(_weight(layer, weight, np.repeat(scales, outputs // count)), x, y)


def _weight(layer: NcnnLayer, weight: Array, scales: Array) -> Operand:
    """The weights as an operand with a scale per output."""
    column = scales.reshape(-1, *[1] * (weight.ndim - 1))
    if weight.dtype != np.int8:
        scaled = weight * column
        rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
        weight = np.clip(rounded, -_MAX, _MAX).astype(np.int8)
    # A channel with the scale 0 has weights of 0.
    used = scales != 0
    weight = np.where(used.reshape(column.shape), weight, 0).astype(np.int8)
    quantization = _quantization(layer, np.where(used, scales, np.float32(1)))
    return QuantizedConstant(np.ascontiguousarray(weight), quantization).dequantized(
        layer, "weight"
    )


def _quantization(layer: NcnnLayer, scales: Array) -> Quantization:
    if not np.all((scales > 0) & np.isfinite(scales)):
        raise layer.invalid(f"a scale is {float(scales.min())}, it must be positive")
    factors = np.float32(1) / scales.astype(np.float32)
    return Quantization.of(factors, 0, None if factors.size == 1 else 0)
