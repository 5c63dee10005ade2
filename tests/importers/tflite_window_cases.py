"""Windows, dilation, rounding and bits of TFLite."""

from __future__ import annotations

import numpy as np
from tflite import ReduceWindowFunction as Function

from tests.importers.tflite_case import model_of
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import Array, normal

X = normal(2, 7, 9, 3)
IS_TRUE = normal(7, 9) > 1


def _numbers(*values: int) -> Array:
    return np.array(values, np.int64)


def _reduce_windows() -> dict[str, Model]:
    functions = {
        "add": (Function.ADD, np.float32(0.5)),
        "mul": (Function.MUL, np.float32(-2)),
        "min": (Function.MINIMUM, np.float32(-0.25)),
        "max": (Function.MAXIMUM, np.float32(0.25)),
    }
    forms = {
        "plain": ((1, 2, 3, 1), (1, 1, 1, 1), (1, 1, 1, 1)),
        "strides": ((2, 3, 2, 1), (1, 2, 3, 2), (1, 1, 1, 1)),
        "dilated": ((1, 2, 3, 2), (1, 2, 1, 1), (1, 3, 4, 2)),
    }
    result = {}
    for name, (function, first) in functions.items():
        for form, (window, strides, dilations) in forms.items():
            shape = [
                (n - (k - 1) * d - 1) // s + 1
                for n, k, s, d in zip(X.shape, window, strides, dilations, strict=True)
            ]
            constants = [first, *(_numbers(*v) for v in (window, strides, dilations))]
            result[f"reduce_window_{name}_{form}"] = model_of(
                *("REDUCE_WINDOW", constants, [shape], "ReduceWindowOptions"),
                x=X,
                ReduceFunction=function,
            )
    for name, function in (("all", Function.ALL), ("any", Function.ANY)):
        constants = [np.bool_(name == "all"), _numbers(2, 3), _numbers(1, 2), _numbers(1, 1)]
        result[f"window_{name}"] = model_of(
            *("REDUCE_WINDOW", constants, [(6, 4)], "ReduceWindowOptions"),
            x=IS_TRUE if name == "any" else ~IS_TRUE,
            dtype="bool",
            ReduceFunction=function,
        )
    return result


def _fake_quant() -> dict[str, Model]:
    """Ranges that have 0 or not."""
    result = {}
    ranges = {"both": (-1.3, 2.1), "above": (0.4, 2.0), "below": (-2.0, -0.3)}
    for name, (low, high) in ranges.items():
        for bits in (4, 8, 16):
            result[f"fake_quant_{name}_{bits}"] = model_of(
                *("FAKE_QUANT", [], [X.shape], "FakeQuantOptions"),
                x=X,
                Min=low,
                Max=high,
                NumBits=bits,
            )
    return result


def _bucketize() -> dict[str, Model]:
    ends = [-1.0, 0.0, 0.5, 3.0]
    values = {
        "floats": np.append(normal(3, 7), [[*ends, -4.0, 9.0, 0.25]], 0).astype(np.float32),
        "integers": np.arange(-3, 6, dtype=np.int32),
    }
    return {
        f"bucketize_{name}": model_of(
            *("BUCKETIZE", [], [x.shape], "BucketizeOptions"), x=x, dtype="int32", Boundaries=ends
        )
        for name, x in values.items()
    }


def _bits() -> dict[str, Model]:
    """Integers as integers of the other sign, and constants as any type of the same size."""
    result = {}
    for before, after in (("int8", "uint8"), ("uint8", "int8"), ("int32", "int32")):
        x = np.arange(-9, 12).astype(before).reshape(3, 7)
        result[f"bitcast_{before}"] = model_of(
            *("BITCAST", [], [x.shape], "BitcastOptions"), x=x, dtype=after
        )
    model = Model()
    operand = model.input(np.arange(4, dtype=np.int32))
    bits = model.constant(np.array([0.5, -3, 0, 7e-40], np.float32))
    (constant,) = model.add("BITCAST", [bits], [(4,)], "BitcastOptions", "int32")
    model.outputs = model.add("ADD", [operand, constant], [(4,)], "AddOptions", "int32")
    return result | {"bitcast_constant": model}


WINDOWS: dict[str, Model] = {
    "dilate": model_of(
        *("DILATE", [np.array([1, 3, 2, 1], np.int32), np.float32(-0.5)], [(2, 19, 17, 3)]),
        "DilateOptions",
        x=X,
    ),
    **_reduce_windows(),
    **_fake_quant(),
    **_bucketize(),
    **_bits(),
}
