"""Queries about QDQ graphs: the int8 tensor behind a dequantized operand, and the quantize_linear
after a result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.passes._graph import Graph
from trimtab.program import Op, Quantization, Var

DTYPE = "i8"
INT8_MIN, INT8_MAX = -128, 127


def stored(graph: Graph, name: str) -> Var | None:
    """The computed int8 tensor with one scale that `name` is dequantized from; None if there is
    none.
    """
    op = graph.producer(name, "dequantize_linear")
    var = graph.var(op.inputs[0]) if op else None
    if var is None or var.data is not None or var.dtype != DTYPE:
        return None
    return var if var.quantization and var.quantization.axis is None else None


def stored_constant(graph: Graph, name: str) -> Var | None:
    """The quantized constant that `name` is dequantized from; None if there is none."""
    op = graph.producer(name, "dequantize_linear")
    var = graph.var(op.inputs[0]) if op else None
    return var if var is not None and var.data is not None and var.quantization else None


def quantized(graph: Graph, name: str) -> Op | None:
    """The only reader of `name`, if it quantizes to int8 with one scale."""
    op = graph.sole_reader(name)
    if op is None or op.type != "quantize_linear":
        return None
    var = graph.var(op.outputs[0])
    return op if var.dtype == DTYPE and _quantization(var).axis is None else None


def bounded(graph: Graph, name: str) -> tuple[float, float, Op] | None:
    """The clamps after `name` up to its quantize_linear: lower bound, upper bound, quantize_linear.

    None if anything else reads `name`.
    """
    low, high = -np.inf, np.inf
    op = graph.sole_reader(name)
    while op is not None and (bounds := op.schema.bounds(op.attributes)):
        low, high = (min(max(bound, bounds[0]), bounds[1]) for bound in (low, high))
        name = op.outputs[0]
        op = graph.sole_reader(name)
    last = quantized(graph, name)
    return (low, high, last) if last else None


def quantization(var: Var) -> tuple[np.float32, int]:
    """Scale and zero point of a tensor with per-tensor quantization."""
    q = _quantization(var)
    return np.float32(q.scale[0]), q.zero_point[0]


def quantize(x: NDArray[np.float32], var: Var) -> NDArray[np.int8]:
    """The int8 values that `quantize_linear` stores in `var` for `x`, saturated."""
    scale, point = quantization(var)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = np.rint(x / scale) + np.float32(point)
    values = np.clip(np.nan_to_num(rounded, nan=INT8_MIN), INT8_MIN, INT8_MAX)
    result: NDArray[np.int8] = values.astype(np.int8)
    return result


def clamp_attributes(low: float, high: float, var: Var) -> dict[str, int]:
    """Bounds on float32 values as bounds on the int8 values stored in `var`."""
    ends = quantize(np.array([low, high], np.float32), var)
    return {"clamp_min": int(ends[0]), "clamp_max": int(ends[1])}


def _quantization(var: Var) -> Quantization:
    assert var.quantization, f"{var.name} is quantized"
    return var.quantization
