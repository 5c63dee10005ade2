"""Convolutions with a bias, a residual and an activation, for the tests of their algorithms."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.program import Program

Array = NDArray[np.float64]
UNIT = 2.0**-24


def program_of(
    layer: Any, x: Sequence[int], w: Sequence[int], attributes: Mapping[str, Any]
) -> tuple[Program, dict[str, NDArray[np.float32]]]:
    """A convolution of `x` with weights `w`, both by their shapes, and what the fields `bias`,
    `residual` and `activation` of `layer` add; and its inputs. The sum is called `sum`. Weights do
    not depend on the size of the picture.
    """
    rng = np.random.default_rng(zlib.crc32(repr(w).encode()))
    program = Program("layer")
    program.add_input("x", x)
    operands = ["x", program.block.add_constant(rng.standard_normal(w, np.float32), "w")]
    if layer.bias:
        bias = rng.standard_normal(w[0], np.float32)
        operands.append(program.block.add_constant(bias, "b"))
    inputs = {"x": rng.standard_normal(x, np.float32)}
    (y,) = program.block.add_op("conv", operands, dict(attributes), ["sum"])
    if layer.residual:
        shape = program.vars[y].shape
        inputs["residual"] = rng.standard_normal(shape, np.float32)
        (y,) = program.block.add_op("add", [y, program.add_input("residual", shape)])
    if layer.activation:
        (y,) = program.block.add_op(layer.activation, [y])
    program.outputs = [y]
    return program, inputs


def activated(y: Array, bound: Array, activation: str) -> tuple[Array, Array]:
    """Values and the bounds of their errors behind an activation."""
    if activation == "relu":
        y = np.maximum(y, 0)
    if activation == "sigmoid":  # slope 1/4 at most, and its own 8 roundings
        y, bound = 1 / (1 + np.exp(-y)), bound / 4 + 8 * UNIT
    return y, bound
