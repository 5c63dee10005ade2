"""A model of one TFLite operator, alone or after a convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.importers.caffe_writer import random
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import Array

IMAGE = random(1, 7, 9, 6, seed=1, low=-3, high=3)
SAME, VALID = 0, 1

POINTWISE: dict[str, Any] = {
    "StrideH": 1,
    "StrideW": 1,
    "DilationHFactor": 1,
    "DilationWFactor": 1,
}


def model_of(
    type: str,
    constants: Sequence[Any],
    shapes: Sequence[Sequence[int]],
    options: str = "",
    x: Array = IMAGE,
    position: int = 0,
    behind: bool = False,
    dtype: str = "float32",
    **fields: Any,
) -> Model:
    """One operator: x at `position` among constant operands (lists of integers are int32)."""
    model = Model()
    operand = model.input(x)
    if behind:
        channels = x.shape[-1]
        weight = model.constant(random(channels, 1, 1, channels, seed=2))
        bias = model.constant(random(channels, seed=3))
        inputs = [operand, weight, bias]
        (operand,) = model.add("CONV_2D", inputs, [x.shape], "Conv2DOptions", **POINTWISE)
    inputs = [model.constant(c) for c in constants]
    inputs.insert(position, operand)
    model.outputs = model.add(type, inputs, shapes, options, dtype, **fields)
    return model
