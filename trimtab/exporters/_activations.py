"""Activations, as operators and as epilogues of other operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from trimtab import schema
from trimtab.exporters._graph import OnnxGraph, attributes_of, emits, refusal
from trimtab.program import Op

Function = Callable[[OnnxGraph, str, str, Mapping[str, Any], str], None]


def clipped(graph: OnnxGraph, x: str, dtype: str, low: float, high: float, y: str = "") -> str:
    """Clips x; an infinite bound is omitted. Returns x itself if both bounds are infinite, unless
    the result must be named `y`.
    """
    bounds = [graph.constant(b, dtype, "bound") if math.isfinite(b) else "" for b in (low, high)]
    if not any(bounds):
        return graph.node("Identity", [x], y) if y else x
    return graph.node("Clip", [x, *bounds], y)


def _clip(graph: OnnxGraph, x: str, dtype: str, values: Mapping[str, Any], y: str) -> None:
    clipped(graph, x, dtype, values["alpha"], values["beta"], y)


def _gelu(graph: OnnxGraph, x: str, dtype: str, values: Mapping[str, Any], y: str) -> None:
    graph.node("Gelu", [x], y, approximate="tanh" if values["alpha"] else "none")


def _swish(graph: OnnxGraph, x: str, dtype: str, values: Mapping[str, Any], y: str) -> None:
    alpha = values["alpha"]
    inner = x if alpha == 1 else graph.node("Mul", [x, graph.constant(alpha, dtype, "alpha")])
    graph.node("Mul", [x, graph.node("Sigmoid", [inner])], y)


# Activations whose ONNX form is not one node with the same attributes.
_COMPOSED: Mapping[str, Function] = {"clip": _clip, "gelu": _gelu, "swish": _swish}


@emits(*_COMPOSED)
def activation(graph: OnnxGraph, op: Op) -> None:
    """Writes an activation that is an operator of its own."""
    dtype = graph.var(op.inputs[0]).dtype
    _COMPOSED[op.type](graph, op.inputs[0], dtype, op.attributes, op.outputs[0])


def epilogue(graph: OnnxGraph, op: Op, x: str, residual: str = "") -> None:
    """Writes the epilogue of `op` with the result x: activation(clamp(x + residual))."""
    values, y, dtype = op.attributes, op.outputs[0], graph.var(op.outputs[0]).dtype
    if residual:
        x = graph.node("Add", [x, residual])
    kind = values["activation"]
    x = clipped(graph, x, dtype, values["clamp_min"], values["clamp_max"], "" if kind else y)
    if not kind:
        return
    function = schema.operator(kind)
    if kind in _COMPOSED:
        _COMPOSED[kind](graph, x, dtype, values, y)
    elif function.onnx:
        graph.node(function.onnx, [x], y, **attributes_of(function, values))
    else:
        raise refusal(op, f"its activation is {kind}")
