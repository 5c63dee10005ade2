"""Activations of 16 bits and weights of 8, against LiteRT within one unit: the engine computes them
in float32; their inputs and outputs are int16.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trimtab
from tests.importers.test_tflite_operators import interpreted
from tests.importers.tflite_case import POINTWISE
from tests.importers.tflite_writer import Model
from trimtab.errors import UnsupportedOperatorError

RNG = np.random.default_rng(8)
X = RNG.integers(-30000, 30000, (1, 6, 5, 4)).astype(np.int16)
SCALE, RESULT = 2.0**-12, 2.0**-11


def _input(model: Model) -> int:
    return model.quantized(model.input(X), SCALE, 0)


def _conv(model: Model, x: int) -> int:
    weights = RNG.integers(-127, 127, (3, 3, 3, 4)).astype(np.int8)
    scales = (0.004, 0.007, 0.002)
    bias = RNG.integers(-9000, 9000, 3)
    operands = [
        x,
        model.constant(weights, scales, (0, 0, 0)),
        model.constant(bias, [SCALE * s for s in scales], (0, 0, 0)),
    ]
    options: dict[str, Any] = {**POINTWISE, "FusedActivationFunction": 1}
    (y,) = model.add("CONV_2D", operands, [(1, 6, 5, 3)], "Conv2DOptions", "int16", **options)
    return model.quantized(y, RESULT, 0)


def convolution() -> Model:
    model = Model()
    model.outputs = [_conv(model, _input(model))]
    return model


def layers() -> Model:
    """A convolution, a pool, a fully connected layer."""
    model = Model()
    y = _conv(model, _input(model))
    pool = {"StrideH": 2, "StrideW": 2, "FilterHeight": 2, "FilterWidth": 2, "Padding": 1}
    (y,) = model.add("MAX_POOL_2D", [y], [(1, 3, 2, 3)], "Pool2DOptions", "int16", **pool)
    model.quantized(y, RESULT, 0)
    weights = model.constant(RNG.integers(-127, 127, (7, 18)).astype(np.int8), (0.003,), (0,))
    bias = model.constant(RNG.integers(-9000, 9000, 7), (RESULT * 0.003,), (0,))
    operands, options = [y, weights, bias], "FullyConnectedOptions"
    (y,) = model.add("FULLY_CONNECTED", operands, [(1, 7)], options, "int16")
    model.outputs = [model.quantized(y, RESULT, 0)]
    return model


def real() -> Model:
    """A float32 result of an int16 input."""
    model = Model()
    model.outputs = model.add("DEQUANTIZE", [_input(model)], [X.shape], "DequantizeOptions")
    return model


@pytest.mark.parametrize("make", [convolution, layers, real])
def test_activations_of_16_bits_are_those_of_litert(make: Any, tmp_path: Path) -> None:
    model = make()
    path = model.write(tmp_path)
    program = trimtab.load(path)
    assert program.vars[program.inputs[0]].dtype == "i16"
    (actual,) = trimtab.Session(program).run(X).values()
    (expected,) = interpreted(model)
    assert actual.shape == expected.shape
    assert actual.dtype == (np.float32 if make is real else np.int16)
    assert len({*expected.flat}) > 5
    np.testing.assert_allclose(actual, expected, 1e-6, 0 if make is real else 1)


def test_a_zero_point_of_16_bits_is_refused(tmp_path: Path) -> None:
    model = Model()
    x = model.quantized(model.input(X), SCALE, 3)
    model.outputs = model.add("DEQUANTIZE", [x], [X.shape], "DequantizeOptions")
    path = model.write(tmp_path)
    with pytest.raises(UnsupportedOperatorError, match="has a zero point"):
        trimtab.load(path)
