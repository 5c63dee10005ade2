"""Custom operators of MediaPipe, against the builtin operators of LiteRT that compute the same."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import trimtab
from tests.importers.test_tflite_operators import interpreted
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import normal
from trimtab.errors import ImportModelError

X, WEIGHTS, BIAS = normal(1, 5, 7, 4), normal(3, 3, 2, 4), normal(3)


@pytest.mark.parametrize(("padding", "height", "width"), [(0, 10, 14), (1, 11, 14)])
def test_a_transposed_convolution_with_bias(
    padding: int, height: int, width: int, tmp_path: Path
) -> None:
    shape = (1, height, width, 3)
    own, builtin = Model(), Model()
    operands = [own.input(X), own.constant(WEIGHTS), own.constant(BIAS)]
    options = struct.pack("<iii", padding + 1, 2, 2)
    own.outputs = own.add("Convolution2DTransposeBias", operands, [shape], struct=options)
    size = builtin.constant([*shape])
    weights, x, bias = builtin.constant(WEIGHTS), builtin.input(X), builtin.constant(BIAS)
    builtin.outputs = builtin.add(
        "TRANSPOSE_CONV",
        [size, weights, x, bias],
        [shape],
        "TransposeConvOptions",
        Padding=padding,
        StrideH=2,
        StrideW=2,
    )
    path = tmp_path / "net.tflite"
    path.write_bytes(own.bytes())
    (y,) = trimtab.Session(path, cache=False).run({"input_0": X}).values()
    (expected,) = interpreted(builtin)
    assert y.shape == expected.shape
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_options_that_are_too_short_are_an_error(tmp_path: Path) -> None:
    model = Model()
    operands = [model.input(X), model.constant(WEIGHTS), model.constant(BIAS)]
    model.outputs = model.add("Convolution2DTransposeBias", operands, [(1, 10, 14, 3)], struct=b"1")
    path = tmp_path / "net.tflite"
    path.write_bytes(model.bytes())
    with pytest.raises(ImportModelError, match="its options are shorter"):
        trimtab.load(path)
