"""Activations whose ONNX form is not one node with the same attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from trimtab.exporters.onnx_ops.graph import OnnxGraph, emits
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
