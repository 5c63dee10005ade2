"""ONNX operators that are imported as several operators, to differentiate with respect to x."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.gradients import reference
from tests.gradients.case import Case, normal


def _rms(x: Any, scale: Any) -> Any:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3) * scale


def _groups(x: Any, scale: Any, bias: Any) -> Any:
    shape = x.shape
    y = reference.normalized(x.reshape(shape[0], 2, -1), (2,), 1e-3).reshape(shape)
    return y * scale[:, None, None] + bias[:, None, None]


def composed_cases() -> Iterator[Case]:
    """All of them; `op` is the ONNX operator, and all operands but x are fixed."""
    x, scale, bias = normal(2, 4, 3, 5), normal(4, seed="scale"), normal(4, seed="bias")
    yield Case(
        "l2_norm",
        "LpNormalization",
        (x,),
        lambda x: x / np.sqrt((x * x).sum(1, keepdims=True)),
        {"axis": 1, "p": 2},
    )
    yield Case(
        "rms_norm", "RMSNormalization", (x, normal(5, seed="scale")), _rms, {"epsilon": 1e-3}, 1
    )
    yield Case(
        "group_norm",
        "GroupNormalization",
        (x, scale, bias),
        _groups,
        {"epsilon": 1e-3, "num_groups": 2},
        2,
    )
    yield Case("silu", "Swish", (x,), lambda x: x / (1 + np.exp(-x)))
    yield Case(
        "celu", "Celu", (x,), lambda x: np.where(x > 0, x, 0.5 * np.expm1(x / 0.5)), {"alpha": 0.5}
    )
    yield Case(
        "reduce_l2",
        "ReduceL2",
        (x,),
        lambda x: np.sqrt((x * x).sum((2, 3), keepdims=True)),
        {"axes": [2, 3]},
    )
    yield Case(
        "logsumexp",
        "ReduceLogSumExp",
        (x,),
        lambda x: np.log(np.exp(x).sum((1,), keepdims=True)),
        {"axes": [1]},
    )
