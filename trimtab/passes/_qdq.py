"""What passes ask of quantized numbers: what an operand is dequantized from, and where a result
goes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.passes._graph import Graph
from trimtab.program import Op, Quantization, Var

DTYPE = "i8"
LEAST, MOST = -128, 127


def stored(graph: Graph, name: str) -> Var | None:
    """The computed i8 tensor, with one scale, that the operand `name` has the real numbers of."""
    op = graph.producer(name, "dequantize_linear")
    var = graph.var(op.inputs[0]) if op else None
    if var is None or var.data is not None or var.dtype != DTYPE:
        return None
    return var if var.quantization and var.quantization.axis is None else None


def stored_constant(graph: Graph, name: str) -> Var | None:
    """The constant integers that the operand `name` has the real numbers of."""
    op = graph.producer(name, "dequantize_linear")
    var = graph.var(op.inputs[0]) if op else None
    return var if var is not None and var.data is not None and var.quantization else None


def quantized(graph: Graph, name: str) -> Op | None:
    """The operator that makes i8 numbers of one scale of `name`, if nothing else reads that."""
    op = graph.sole_reader(name)
    if op is None or op.type != "quantize_linear":
        return None
    var = graph.var(op.outputs[0])
    return op if var.dtype == DTYPE and _of(var).axis is None else None


def bounded(graph: Graph, name: str) -> tuple[float, float, Op] | None:
    """The same where bounds are applied before: the lower and upper one, and the operator."""
    low, high = -np.inf, np.inf
    op = graph.sole_reader(name)
    while op is not None and op.type in ("relu", "clip"):
        own_low = 0.0 if op.type == "relu" else op.attributes["alpha"]
        own_high = np.inf if op.type == "relu" else op.attributes["beta"]
        low, high = (min(max(bound, own_low), own_high) for bound in (low, high))
        name = op.outputs[0]
        op = graph.sole_reader(name)
    last = quantized(graph, name)
    return (low, high, last) if last else None


def quantization(var: Var) -> tuple[np.float32, int]:
    """Scale and zero point of a tensor that has one of each."""
    q = _of(var)
    return np.float32(q.scale[0]), q.zero_point[0]


def integers(x: NDArray[np.float32], var: Var) -> NDArray[np.int8]:
    """Real numbers as `quantize_linear` stores them in `var`; infinities are the ends."""
    scale, point = quantization(var)
    with np.errstate(over="ignore", invalid="ignore"):
        places = np.rint(x / scale) + np.float32(point)
    result: NDArray[np.int8] = np.clip(np.nan_to_num(places, nan=LEAST), LEAST, MOST).astype(
        np.int8
    )
    return result


def bounds(low: float, high: float, var: Var) -> dict[str, int]:
    """Bounds on real numbers as those on what is stored in `var`."""
    ends = integers(np.array([low, high], np.float32), var)
    return {"clamp_min": int(ends[0]), "clamp_max": int(ends[1])}


def _of(var: Var) -> Quantization:
    assert var.quantization, f"{var.name} is quantized"
    return var.quantization
