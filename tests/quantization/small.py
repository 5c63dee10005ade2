"""A small network, samples for it, and an observer of samples."""

from __future__ import annotations

import numpy as np

from tests.ops.cases.case import Array
from trimtab.program import Program
from trimtab.quantization.observer import Observer

DATA = np.random.default_rng(1).normal(0, 1, (6, 3, 4, 6)).astype(np.float32)


def network() -> Program:
    """A convolution of `data` and a ReLU."""
    program = Program("net")
    x = program.add_input("data", (1, 3, 4, 6))
    weights = program.block.add_constant(np.ones((2, 3, 1, 1), np.float32))
    (y,) = program.block.add_op("conv", [x, weights], None, ["y"])
    program.block.add_op("relu", [y], None, ["z"])
    program.outputs = ["z"]
    return program


def seen(*values: Array) -> Observer:
    """The observer of these samples after both passes."""
    result = Observer()
    for value in values:
        result.add_extremes(value)
    for value in values:
        result.add_counts(value)
    return result
