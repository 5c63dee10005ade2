"""Integers that stand for real numbers.

All formats come down to one form: integers that are dequantized, an operator on real numbers, and a
result that is quantized again. Passes make operators on integers of that.
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
class Stored:
    """A constant as a file stores it: integers, and what they stand for."""

    data: Array
    quantization: Quantization

    def real(self) -> Array:
        """The float32 numbers that it stands for."""
        return self.quantization.real(self.data)

    def transposed(self, permutation: Sequence[int] = (1, 0)) -> Stored:
        """The same numbers with dimensions in another order, as numpy has it."""
        axis = self.quantization.axis
        place = None if axis is None else tuple(permutation).index(axis)
        turned = np.ascontiguousarray(self.data.transpose(permutation))
        return Stored(turned, replace(self.quantization, axis=place))


def dequantized(layer: ImportedLayer, x: Operand, quantization: Quantization) -> Value:
    """The real numbers that integers `x` stand for."""
    if not isinstance(x, Value):
        return real(layer, Stored(x, quantization), "operand")
    if x.quantization not in (None, quantization):
        x = layer.add("reshape", x, shape=x.shape)  # the same integers, which stand for others
    x.quantization = quantization
    x.check()
    return layer.add("dequantize_linear", x)


def real(layer: ImportedLayer, stored: Stored, role: str) -> Value:
    """The real numbers that a stored constant stands for, as an operand."""
    constant = layer.constant(stored.data, role, stored.quantization)
    return layer.add("dequantize_linear", constant)


def quantized(layer: ImportedLayer, x: Value, quantization: Quantization, dtype: str) -> Value:
    """Real numbers as integers of type i8 or u8."""
    y = layer.add("quantize_linear", x, to=dtype)
    y.quantization = quantization
    y.check()
    return y


def through_reals(layer: ImportedLayer, x: Value, apply: Callable[[Value], Value]) -> Value:
    """Of integers `x`, what gives one of the real numbers that it is given."""
    kept = x.quantization or Quantization.of(1.0)
    return quantized(layer, apply(dequantized(layer, x, kept)), kept, x.dtype)
