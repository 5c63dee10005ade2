"""Quantized operands and results.

Every format is imported in one form: quantized tensors are dequantized, operators compute on
float32, and results are quantized again. Passes fuse this form into operators on int8 values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.program import Quantization
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
        constant = layer.constant(self.data, role, self.quantization)
        return layer.add("dequantize_linear", constant)

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
    if x.quantization not in (None, quantization):
        x = layer.add("reshape", x, shape=x.shape)  # the same elements with another quantization
    x.quantization = quantization
    x.check()
    return layer.add("dequantize_linear", x)


def quantized(layer: ImportedLayer, x: Value, quantization: Quantization, dtype: str) -> Value:
    """Quantizes `x` to i8 or u8."""
    y = layer.add("quantize_linear", x, to=dtype)
    y.quantization = quantization
    y.check()
    return y


def through_float32(layer: ImportedLayer, x: Value, apply: Callable[[Value], Value]) -> Value:
    """Applies a float32 function to the quantized tensor `x`; the result has its quantization."""
    quantization = x.quantization or Quantization.of(1.0)
    y = apply(dequantized(layer, x, quantization))
    return quantized(layer, y, quantization, x.dtype)
