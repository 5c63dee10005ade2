"""Recurrent operators. Their sequences are products with the input weights already, so those of the
ONNX node are the identity.
"""

from __future__ import annotations

import numpy as np

from trimtab.exporters.onnx_ops.graph import OnnxGraph, emits, refusal
from trimtab.program import Op


@emits("lstm")
def lstm(graph: OnnxGraph, op: Op) -> None:
    """Writes LSTM: h of all steps, and the last c."""
    if op.attributes["round_state"]:
        raise refusal(op, "a state in 8 bits")
    x, r, h, c = op.inputs[:4]
    states = [_with_directions(graph, name) for name in (h, c)]
    peepholes = [_with_directions(graph, name) for name in op.inputs[4:] if name]
    operands = [x, _identity(graph, op, 4), _with_directions(graph, r), "", "", *states, *peepholes]
    last = graph.new_name("last_c")
    _node(graph, op, "LSTM", operands, [graph.new_name("h"), "", last])
    _without_directions(graph, last, op.outputs[1], 0)


@emits("gru")
def gru(graph: OnnxGraph, op: Op) -> None:
    """Writes GRU; the bias belongs to the product of the state."""
    x, gates, state, bias, h = op.inputs
    weights = graph.node("Concat", [gates, state], axis=0)
    zeros = graph.constant(np.zeros(5 * _size(graph, op)), "f32", "zeros")
    biases = graph.node("Concat", [zeros, bias], axis=0)
    operands = [
        *(x, _identity(graph, op, 3), _with_directions(graph, weights)),
        *(_with_directions(graph, biases), "", _with_directions(graph, h)),
    ]
    linear = int(op.attributes["linear_before_reset"])
    _node(graph, op, "GRU", operands, [graph.new_name("h")], linear_before_reset=linear)


@emits("rnn")
def rnn(graph: OnnxGraph, op: Op) -> None:
    """Writes RNN with its activation."""
    x, r, h = op.inputs
    states = [_with_directions(graph, name) for name in (r, h)]
    operands = [x, _identity(graph, op, 1), states[0], "", "", states[1]]
    activation = "Relu" if op.attributes["relu"] else "Tanh"
    _node(graph, op, "RNN", operands, [graph.new_name("h")], activations=[activation])


def _node(
    graph: OnnxGraph,
    op: Op,
    type: str,
    operands: list[str],
    outputs: list[str],
    **attributes: object,
) -> None:
    """Writes the node; its first output loses its dimension of directions."""
    direction = "reverse" if op.attributes["reverse"] else "forward"
    size = _size(graph, op)
    graph.node(type, operands, outputs, hidden_size=size, direction=direction, **attributes)
    _without_directions(graph, outputs[0], op.outputs[0], 1)


def _size(graph: OnnxGraph, op: Op) -> int:
    return graph.var(op.outputs[0]).shape[2]


def _identity(graph: OnnxGraph, op: Op, gates: int) -> str:
    """Input weights that leave the sequence as it is."""
    if graph.var(op.inputs[0]).dtype != "f32":
        raise refusal(op, "a sequence of another type than float32")
    return graph.constant(np.eye(gates * _size(graph, op))[np.newaxis], "f32", "identity")


def _with_directions(graph: OnnxGraph, name: str) -> str:
    """The operand with a first dimension of one direction."""
    return graph.node("Unsqueeze", [name, graph.constant([0], "i64", "axis")])


def _without_directions(graph: OnnxGraph, name: str, y: str, axis: int) -> None:
    graph.node("Squeeze", [name, graph.constant([axis], "i64", "axis")], y)
