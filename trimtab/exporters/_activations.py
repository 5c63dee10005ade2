"""Functions of each element, which convolutions and products apply to their results as well."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from trimtab.exporters._graph import Graph, emits, refusal
from trimtab.program import Op

# Those that ONNX has under a name of its own, with the attributes that it calls alike.
_SAME: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "abs": ("Abs", ()),
    "elu": ("Elu", ("alpha",)),
    "erf": ("Erf", ()),
    "exp": ("Exp", ()),
    "hard_sigmoid": ("HardSigmoid", ("alpha", "beta")),
    "hard_swish": ("HardSwish", ()),
    "leaky_relu": ("LeakyRelu", ("alpha",)),
    "log": ("Log", ()),
    "mish": ("Mish", ()),
    "neg": ("Neg", ()),
    "relu": ("Relu", ()),
    "sigmoid": ("Sigmoid", ()),
    "softplus": ("Softplus", ()),
    "sqrt": ("Sqrt", ()),
    "tanh": ("Tanh", ()),
}
Function = Callable[[Graph, str, str, Mapping[str, Any], str], None]


def clipped(graph: Graph, x: str, dtype: str, low: float, high: float, y: str = "") -> str:
    """x between two bounds, of which infinite ones are left out; x itself where both are, unless
    the result has to be called `y`.
    """
    bounds = [graph.constant(b, dtype, "bound") if math.isfinite(b) else "" for b in (low, high)]
    if not any(bounds):
        return graph.node("Identity", [x], y) if y else x
    return graph.node("Clip", [x, *bounds], y)


def _clip(graph: Graph, x: str, dtype: str, given: Mapping[str, Any], y: str) -> None:
    clipped(graph, x, dtype, given["alpha"], given["beta"], y)


def _gelu(graph: Graph, x: str, dtype: str, given: Mapping[str, Any], y: str) -> None:
    graph.node("Gelu", [x], y, approximate="tanh" if given["alpha"] else "none")


def _swish(graph: Graph, x: str, dtype: str, given: Mapping[str, Any], y: str) -> None:
    alpha = given["alpha"]
    inner = x if alpha == 1 else graph.node("Mul", [x, graph.constant(alpha, dtype, "alpha")])
    graph.node("Mul", [x, graph.node("Sigmoid", [inner])], y)


_OTHERS: Mapping[str, Function] = {"clip": _clip, "gelu": _gelu, "swish": _swish}


@emits(*_SAME, *_OTHERS)
def function(graph: Graph, op: Op) -> None:
    """One operand, one function."""
    dtype = graph.var(op.inputs[0]).dtype
    _apply(graph, op.type, op.inputs[0], dtype, op.attributes, op.outputs[0])


def finished(graph: Graph, op: Op, x: str, residual: str = "") -> None:
    """What operators do to their result x: activation(clamp(x + residual))."""
    given, y, dtype = op.attributes, op.outputs[0], graph.var(op.outputs[0]).dtype
    if residual:
        x = graph.node("Add", [x, residual])
    kind = given["activation"]
    x = clipped(graph, x, dtype, given["clamp_min"], given["clamp_max"], "" if kind else y)
    if kind in _SAME or kind in _OTHERS:
        _apply(graph, kind, x, dtype, given, y)
    elif kind:
        raise refusal(op, f"its activation is {kind}")


def _apply(graph: Graph, kind: str, x: str, dtype: str, given: Mapping[str, Any], y: str) -> None:
    if kind in _SAME:
        name, attributes = _SAME[kind]
        graph.node(name, [x], y, **{key: given[key] for key in attributes})
    else:
        _OTHERS[kind](graph, x, dtype, given, y)
