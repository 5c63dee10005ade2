"""Test cases of TFLite convolutions whose weights are dequantized."""

from __future__ import annotations

import numpy as np

from tests.importers.caffe_writer import random
from tests.importers.tflite_case import IMAGE, POINTWISE
from tests.importers.tflite_writer import Model


def _dequantized() -> dict[str, Model]:
    """Weights that are stored as float16, or quantized."""
    result = {}
    half = random(4, 1, 1, 6, seed=18).astype(np.float16)
    integers = (random(4, 1, 1, 6, seed=18) * 100).astype(np.int8)
    for name, value, scales, zeros in (
        ("float16", half, (), ()),
        ("int8", integers, (0.02,), (3,)),
    ):
        model = Model()
        x = model.input(IMAGE)
        stored = model.constant(value, scales, zeros)
        (weight,) = model.add("DEQUANTIZE", [stored], [value.shape], "DequantizeOptions")
        bias = model.constant(random(4, seed=5))
        model.outputs = model.add(
            "CONV_2D", [x, weight, bias], [(1, 7, 9, 4)], "Conv2DOptions", **POINTWISE
        )
        result[f"dequantize_{name}"] = model
    return result


DEQUANTIZED: dict[str, Model] = _dequantized()
