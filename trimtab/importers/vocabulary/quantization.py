"""Quantized operands and results.

Every format is imported in one form: quantized tensors are dequantized, operators compute on
float32, and results are quantized again. Passes fuse this form into operators on int8 values.

Files give channels that are always 0, dead ones, a scale of 0. In the program scales are positive:
dequantized values of a dead channel are 0, and quantized ones are the largest of the type for
positive values, otherwise the smallest, as the saturated result of a division by 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.program import Quantization
from trimtab.program.block import NUMPY_DTYPES
from trimtab.program.quantization import STORED

DTYPES = tuple(STORED)


@dataclass(frozen=True)
class QuantizedConstant:
    """A constant in its stored form: quantized values and their quantization."""

    data: Array
    quantization: Quantization

    def values(self) -> Array:
        """The dequantized values, in float32."""
        return self.quantization.dequantize(self.data)

    def dequantized(self, layer: ImportedLayer, role: str) -> Value:
        """Adds the constant and its dequantization to the program."""
        live = self.with_live_scales()
        constant = layer.constant(live.data, role, live.quantization)
        return layer.add("dequantize_linear", constant)

    def with_live_scales(self) -> QuantizedConstant:
        """The same values without scales of 0: dead channels hold their zero points."""
        q = self.quantization
        if all(q.scale):
            return self
        dead, points = _along(q, self.data, q.dead), _along(q, self.data, q.zero_point)
        data = np.where(dead, points, self.data).astype(self.data.dtype)
        return QuantizedConstant(data, q.with_live_scales())

    def transposed(self, permutation: Sequence[int] = (1, 0)) -> QuantizedConstant:
        """The constant with permuted axes, as numpy's transpose."""
        axis = self.quantization.axis
        new_axis = None if axis is None else tuple(permutation).index(axis)
        data = np.ascontiguousarray(self.data.transpose(permutation))
        return QuantizedConstant(data, replace(self.quantization, axis=new_axis))


def dequantized(layer: ImportedLayer, x: Operand, quantization: Quantization) -> Value:
    """Dequantizes `x`."""
    if not isinstance(x, Value):
        return QuantizedConstant(x, quantization).dequantized(layer, "operand")
    live = quantization.with_live_scales()
    if x.quantization not in (None, live):
        x = layer.add("reshape", x, shape=x.shape)  # the same elements with another quantization
    x.quantization = live
    x.check()
    y = layer.add("dequantize_linear", x)
    if live == quantization:
        return y
    factors = np.where(_along(quantization, y, quantization.dead), np.float32(0), np.float32(1))
    return layer.add("mul", y, layer.constant(factors, "live"))


def quantized(layer: ImportedLayer, x: Value, quantization: Quantization, dtype: str) -> Value:
    """Quantizes `x` to i8 or u8."""
    live = quantization.with_live_scales()
    y = layer.add("quantize_linear", x, to=dtype)
    y.quantization = live
    y.check()
    if live == quantization:
        return y
    low, high = (layer.constant(np.array(n, NUMPY_DTYPES[dtype]), "end") for n in STORED[dtype])
    is_positive = layer.add("compare", layer.constant(0.0, "zero"), x, relation="less")
    ends = layer.add("where", is_positive, high, low)
    dead = layer.constant(_along(quantization, x, quantization.dead), "dead")
    y = layer.add("where", dead, ends, y)
    y.quantization = live
    return y


def _along(quantization: Quantization, x: Operand, values: Sequence[int]) -> Array:
    """Values, one per scale, in a shape that broadcasts to `x`."""
    shape = [1] * len(x.shape)
    if quantization.axis is not None:
        shape[quantization.axis] = -1
    return np.array(values).reshape(shape)


def through_float32(layer: ImportedLayer, x: Value, apply: Callable[[Value], Value]) -> Value:
    """Applies a float32 function to the quantized tensor `x`; the result has its quantization."""
    quantization = x.quantization or Quantization.of(1.0)
    y = apply(dequantized(layer, x, quantization))
    return quantized(layer, y, quantization, x.dtype)
