"""Each TFLite operator as an output of the network, in the types of the file, against LiteRT."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

from tests.importers.test_tflite_quantized import litert, load, run
from tests.importers.tflite_cases import CASES
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import Array
from trimtab.errors import UnsupportedOperatorError

_FLOAT = 0  # TensorType
_NUMBERS = {"uint8": 3, "int8": 9, "int32": 2, "int64": 4}
# Operators whose weights need scales of their own: tests of quantized convolutions and products
# have them as outputs.
_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "FULLY_CONNECTED")
# Scales and zero points for int8 that TFLite fixes.
_FIXED = {
    "LOGISTIC": (1 / 256, -128),
    "SOFTMAX": (1 / 256, -128),
    "LOG_SOFTMAX": (16 / 256, 127),
    "TANH": (1 / 128, 0),
    "L2_NORMALIZATION": (1 / 128, 0),
}
# LiteRT takes the operand of FAKE_QUANT for float32, and crashes.
_SINGLE = {
    name: model
    for name, model in CASES.items()
    if len(model.ops) == 1 and model.ops[0][0] not in (*_WEIGHTED, "FAKE_QUANT")
}
# What LiteRT refuses to run: types by operator, and three activations behind a division.
_REFUSED = {
    "uint8 int8 int32 int64": (
        "CEIL FLOOR ROUND SIN COS SQUARE LOCAL_RESPONSE_NORMALIZATION ATAN2 L2_POOL_2D CONV_3D"
        " CONV_3D_TRANSPOSE UNIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_LSTM"
        " UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_RNN NON_MAX_SUPPRESSION_V4"
        " NON_MAX_SUPPRESSION_V5 div_1 div_3 div_5"
    ),
    "int32 int64": (
        "MAX_POOL_2D AVERAGE_POOL_2D RELU RELU6 RELU_N1_TO_1 LOGISTIC TANH HARD_SWISH LEAKY_RELU"
        " PRELU SOFTMAX LOG_SOFTMAX L2_NORMALIZATION RESIZE_BILINEAR"
    ),
    "uint8 int8 int64": (
        "SIGN SEGMENT_SUM UNSORTED_SEGMENT_SUM UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX"
        " UNSORTED_SEGMENT_MIN"
    ),
    "uint8 int32 int64": "ELU EXP BATCH_MATMUL FLOOR_DIV",
    "uint8 int64": "ABS SQUARED_DIFFERENCE",
    "uint8 int8": "CUMSUM bucketize_floats",
    "uint8": "NEG REDUCE_PROD FLOOR_MOD",
    "int8": "REVERSE_SEQUENCE",
    "int64": "DIV UNPACK ARG_MAX RESIZE_NEAREST_NEIGHBOR",
}
_IS_REFUSED = {
    (name, dtype)
    for dtypes, names in _REFUSED.items()
    for name in names.split()
    for dtype in dtypes.split()
}
_RUN = [
    (name, dtype)
    for dtype in _NUMBERS
    for name, model in _SINGLE.items()
    if not {(name, dtype), (model.ops[0][0], dtype)} & _IS_REFUSED
]


def retyped(source: Model, dtype: str) -> Model:
    """The model with tensors of another type instead of float32; int8 and uint8 are quantized."""
    model = copy.deepcopy(source)
    limits = np.iinfo(dtype)
    largest = max(float(np.abs(x).max()) for x in (*model.feeds, *litert(source)))
    for index, tensor in enumerate(model.tensors):
        if tensor.type != _FLOAT:
            continue
        scale, point = largest / 127, 0
        if index in model.outputs:
            scale, point = _FIXED.get(model.ops[0][0], (scale, point))
        shift = 128 if dtype == "uint8" else 0
        tensor.type = _NUMBERS[dtype]
        if limits.bits == 8:
            model.quantized(index, scale, point + shift)
        else:
            scale, shift = 1.0, 0

        def stored(x: Array, scale: float = scale, shift: int = point + shift) -> Array:
            steps = np.clip(np.rint(x / scale) + shift, limits.min, limits.max)
            return np.asarray(steps, dtype)

        if tensor.data:
            tensor.data = stored(np.frombuffer(tensor.data, np.float32)).tobytes()
        elif index in model.inputs:
            place = model.inputs.index(index)
            model.feeds[place] = stored(model.feeds[place])
    return model


def twice(model: Model) -> Model:
    """The model with its operator two times, so that each result is also another output."""
    type, inputs, outputs, options, fields = model.ops[0]
    copies = []
    for index in outputs:
        tensor = copy.deepcopy(model.tensors[index])
        tensor.name += "_again"
        model.tensors.append(tensor)
        copies.append(len(model.tensors) - 1)
    model.ops.append((type, inputs, copies, options, fields))
    model.outputs = [*model.outputs, *copies]
    return model


# Operators that compute, and not for int32 and int64 in the engine.
_FLOAT_ONLY = (
    "squared_difference",
    *(f"{op}_{activation}" for op in ("add", "sub", "mul", "div") for activation in (1, 2, 3, 5)),
    *("mean", "resize_"),
)
# Operators that are not for quantized operands. LiteRT takes those of some as integers.
_NOT_QUANTIZED = (
    *("floor_div", "select", "top_k", "scatter_nd", "matrix_", "stablehlo"),
    *("dilate", "reduce_window"),
)


@pytest.mark.parametrize(("name", "dtype"), _RUN)
def test_an_operator_that_is_an_output_has_the_type_of_the_file(
    name: str, dtype: str, tmp_path: Path
) -> None:
    model = twice(retyped(_SINGLE[name], dtype))
    expected = litert(model)
    is_integer = dtype in ("int32", "int64")
    if name.startswith(_FLOAT_ONLY if is_integer else _NOT_QUANTIZED) or name == "floor_div":
        with pytest.raises(UnsupportedOperatorError):
            load(model, tmp_path)
        return
    for actual, want in zip(run(model, tmp_path), expected, strict=True):
        assert (actual.dtype, actual.shape) == (want.dtype, want.shape)
        assert np.abs(actual.astype(int) - want.astype(int)).max() <= 1
