"""Layers that ncnn computes in 8-bit integers: their parameter 8, int8_scale_term, is not 0.

A scale of ncnn is a factor: what stands for x is round(x scale), halves away from zero, from -127
to 127. Behind the weights and the bias (of real numbers) come scales of the weights, that of the
operand, and, in layers whose term is above 100, that of the result, which stays integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers.ncnn_ops.layer import NcnnLayer
from trimtab.importers.vocabulary.quantization import Stored, dequantized, quantized, real
from trimtab.program import Quantization

_TERM = 8
_REQUANTIZES = 100
_ONE_SCALE = 2  # of a depthwise convolution: one scale for the weights of all groups
_MOST = 127


@dataclass(frozen=True)
class Integers:
    """What integers of a layer stand for; `y` is None where its result is of real numbers."""

    weight: Operand
    x: Quantization
    y: Quantization | None

    def rounded(self, layer: NcnnLayer, x: Value) -> Value:
        """The operand as the layer takes it."""
        return dequantized(layer, quantized(layer, x, self.x, "i8"), self.x)

    def result(self, layer: NcnnLayer, y: Value) -> Value:
        """The result, behind its activation, as the layer gives it."""
        if self.y is None:
            return y
        return dequantized(layer, quantized(layer, y, self.y, "i8"), self.y)


def is_quantized(layer: NcnnLayer) -> bool:
    """Whether the layer computes in integers."""
    return layer.param.integer(_TERM, 0) != 0


def read(layer: NcnnLayer, weight: Array, groups: int | None = None) -> Integers:
    """What follows weights and bias; `groups` are those of a depthwise layer.

    Weights [outputs, ...] that are no integers yet are rounded, as ncnn does when it loads them.
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
    return Integers(_weight(layer, weight, np.repeat(scales, outputs // count)), x, y)


def _weight(layer: NcnnLayer, weight: Array, scales: Array) -> Operand:
    """Weights as operands, with a scale for each output."""
    column = scales.reshape(-1, *[1] * (weight.ndim - 1))
    if weight.dtype != np.int8:
        places = weight * column
        away = np.copysign(np.floor(np.abs(places) + np.float32(0.5)), places)
        weight = np.clip(away, -_MOST, _MOST).astype(np.int8)
    # A channel without a scale has weights of 0.
    used = scales != 0
    weight = np.where(used.reshape(column.shape), weight, 0).astype(np.int8)
    units = _quantization(layer, np.where(used, scales, np.float32(1)))
    return real(layer, Stored(np.ascontiguousarray(weight), units), "weight")


def _quantization(layer: NcnnLayer, scales: Array) -> Quantization:
    if not np.all((scales > 0) & np.isfinite(scales)):
        raise layer.invalid(f"a scale of its integers is {float(scales.min())}")
    units = np.float32(1) / scales.astype(np.float32)
    return Quantization.of(units, 0, None if units.size == 1 else 0)
