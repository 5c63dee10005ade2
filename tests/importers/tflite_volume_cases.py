"""Convolutions of volumes of TFLite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.importers.tflite_case import SAME, VALID, model_of
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import normal

X = normal(2, 5, 6, 7, 3)

_AXES = "DHW"


def _fields(strides: Sequence[int], dilations: Sequence[int], padding: int) -> dict[str, Any]:
    fields: dict[str, Any] = {"Padding": padding}
    for axis, stride, dilation in zip(_AXES, strides, dilations, strict=True):
        fields |= {f"Stride{axis}": stride, f"Dilation{axis}Factor": dilation}
    return fields


def _size(
    kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], padding: int
) -> list[int]:
    """Depth, height and width of a convolution of X."""
    return [
        -(-n // s) if padding == SAME else (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(X.shape[1:4], kernel, strides, dilations, strict=True)
    ]


def _convolutions() -> dict[str, Model]:
    forms: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
        "plain": ((2, 3, 4), (1, 1, 1), (1, 1, 1)),
        "strides": ((3, 2, 3), (2, 3, 1), (1, 1, 1)),
        "dilated": ((2, 3, 2), (1, 1, 1), (3, 2, 4)),
        "pointwise": ((1, 1, 1), (1, 1, 1), (1, 1, 1)),
    }
    result = {}
    for name, (kernel, strides, dilations) in forms.items():
        for padding in (SAME, VALID):
            size = _size(kernel, strides, dilations, padding)
            result[f"conv_3d_{name}_{'valid' if padding else 'same'}"] = model_of(
                "CONV_3D",
                [normal(*kernel, 3, 4), normal(4)],
                [(2, *size, 4)],
                "Conv3DOptions",
                x=X,
                **_fields(strides, dilations, padding),
            )
    result["conv_3d_relu_without_bias"] = model_of(
        *("CONV_3D", [normal(2, 2, 2, 3, 4)], [(2, 4, 5, 6, 4)], "Conv3DOptions"),
        x=X,
        FusedActivationFunction=1,
        **_fields((1, 1, 1), (1, 1, 1), VALID),
    )
    return result


def _transposed() -> dict[str, Model]:
    """Input 0 is the size of the result, which padding and strides leave open by some elements."""
    forms: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]] = {
        "same": ((2, 3, 4), (1, 1, 1), (5, 6, 7), SAME),
        "valid": ((2, 3, 4), (1, 1, 1), (6, 8, 10), VALID),
        "strides": ((3, 2, 3), (2, 3, 2), (10, 18, 14), SAME),
        "odd": ((3, 2, 3), (2, 3, 2), (9, 17, 13), SAME),
        "longer": ((2, 2, 2), (2, 2, 2), (11, 12, 15), VALID),
    }
    return {
        f"conv_3d_transpose_{name}": model_of(
            "CONV_3D_TRANSPOSE",
            [np.array([2, *size, 4], np.int32), normal(*kernel, 4, 3), normal(4)],
            [(2, *size, 4)],
            "Conv3DOptions",
            x=X,
            position=2,
            **_fields(strides, (1, 1, 1), padding),
        )
        for name, (kernel, strides, size, padding) in forms.items()
    }


VOLUMES: dict[str, Model] = {**_convolutions(), **_transposed()}
