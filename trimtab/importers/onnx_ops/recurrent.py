"""LSTM, GRU, RNN."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.integers import rounded_to_bytes
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import recurrent
from trimtab.importers.vocabulary.recurrent import Weights

_REVERSED = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""The parts of a node by the text of its attribute `direction`: true if a part begins with the last
step.
"""

# Indices of optional inputs.
_LENGTHS, _H, _C, _PEEPHOLES = 4, 5, 6, 7

# Indices of the scales of the weights of a quantized LSTM; each zero point is the next input.
_SCALES = {1: 8, 2: 10}

_Direction = Callable[[Value, Weights, int, bool], tuple[Value, ...]]
"""(x, weights, index, reverse) -> h of all steps and the last states of one direction."""

_Matrices = Callable[[OnnxNode, int, str, tuple[int, int, int]], Array]
"""(node, input, role, [directions, rows, columns]) -> the weights of all directions, float32."""


def _constant(node: OnnxNode, place: int, what: str, shape: tuple[int, ...]) -> Array:
    return node.parameter(place, what, shape).astype(np.float32)


@handles("LSTM")
def lstm(node: OnnxNode) -> Results:
    """Long short-term memory: all directions, initial states, peepholes; no sequence lengths."""
    return _lstm(node, _constant)


@handles("com.microsoft.DynamicQuantizeLSTM")
def quantized_lstm(node: OnnxNode) -> Results:
    """LSTM with int8 or uint8 weights [directions, inputs, 4 size], which are dequantized; x, and h
    of each step, are rounded to 8 bits of their ranges.
    """
    return _lstm(node, _dequantized, rounded=True)


def _dequantized(node: OnnxNode, place: int, what: str, shape: tuple[int, int, int]) -> Array:
    """The dequantized weights [directions, rows, columns] of an input [directions, columns, rows],
    with one scale per direction, or per direction and row.
    """
    directions, rows, columns = shape
    data = node.known(place, what)
    node.check_shape(what, data.shape, (directions, columns, rows))

    def along(array: Array, role: str) -> Array:
        if array.size not in (directions, directions * rows):
            raise node.invalid(f"the {role} of its {what} has shape {list(array.shape)}")
        return array.astype(np.float32).reshape(directions, 1, -1)

    scale = along(node.parameter(_SCALES[place], f"scale of the {what}"), "scale")
    point = along(node.known(_SCALES[place] + 1, f"zero point of the {what}"), "zero point")
    weights: Array = (data.astype(np.float32) - point) * scale
    return np.ascontiguousarray(weights.swapaxes(1, 2))


def _lstm(node: OnnxNode, matrices: _Matrices, *, rounded: bool = False) -> Results:
    _check_activations(node, ("sigmoid", "tanh", "tanh"))
    if node.integer("input_forget", 0):
        raise node.unsupported("its input and forget gates are coupled")

    def direction(x: Value, weights: Weights, i: int, reverse: bool) -> tuple[Value, ...]:
        states = [_state(node, x, weights.size, place, i) for place in (_H, _C)]
        peepholes = None
        if node.has(_PEEPHOLES):
            peepholes = _constant(node, _PEEPHOLES, "peepholes", (-1, 3 * weights.size))[i]
        return recurrent.lstm(
            node,
            x,
            weights,
            *states,
            peepholes=peepholes,
            reverse=reverse,
            round_state=rounded,
        )

    x = rounded_to_bytes(node, node.x()) if rounded else node.x()
    return _results(node, 4, x, direction, matrices)


@handles("GRU")
def gru(node: OnnxNode) -> Results:
    """Gated recurrent unit: all directions, initial states; no sequence lengths."""
    _check_activations(node, ("sigmoid", "tanh"))
    linear_before_reset = bool(node.integer("linear_before_reset", 0))

    def direction(x: Value, weights: Weights, i: int, reverse: bool) -> tuple[Value, ...]:
        h = _state(node, x, weights.size, _H, i)
        return recurrent.gru(
            node, x, weights, h, linear_before_reset=linear_before_reset, reverse=reverse
        )

    return _results(node, 3, node.x(), direction)


@handles("RNN")
def rnn(node: OnnxNode) -> Results:
    """Elman's network with tanh or ReLU: all directions, initial states; no sequence lengths."""
    relu = _activations(node, ("tanh",))[:1] == ("relu",)
    _check_activations(node, ("relu",) if relu else ("tanh",))

    def direction(x: Value, weights: Weights, i: int, reverse: bool) -> tuple[Value, ...]:
        h = _state(node, x, weights.size, _H, i)
        return recurrent.rnn(node, x, weights, h, relu=relu, reverse=reverse)

    return _results(node, 1, node.x(), direction)


def _results(
    node: OnnxNode, gates: int, x: Value, direction: _Direction, matrices: _Matrices = _constant
) -> Results:
    """The outputs of a node for the sequences `x`, with its directions side by side: h of all
    steps, then last states, each [directions, n, size].
    """
    reversed = _REVERSED.get(node.text("direction", "forward"))
    if reversed is None:
        raise node.invalid(f"its direction is {node.text('direction')}")
    if node.real("clip", 0.0):
        raise node.unsupported("it clips the operands of its activations")
    if len(x.shape) != 3:
        raise node.invalid(f"its input has {len(x.shape)} dimensions, not 3")
    batch_first = bool(node.integer("layout", 0))
    if batch_first:
        x = node.transpose(x, (1, 0, 2))
    if node.has(_LENGTHS) and any(n != x.shape[0] for n in node.ints(_LENGTHS, "sequence lengths")):
        raise node.unsupported("its sequences have different lengths")
    each = [
        direction(x, _weights(node, gates, len(reversed), x.shape[2], i, matrices), i, reverse)
        for i, reverse in enumerate(reversed)
    ]
    sequences, *states = zip(*each, strict=True)
    y = _side_by_side(node, sequences, 1)
    lasts = [_side_by_side(node, state, 0) for state in states]
    if batch_first:
        y = node.transpose(y, (2, 0, 1, 3))
        lasts = [node.transpose(last, (1, 0, 2)) for last in lasts]
    return (y, *lasts)[: len(node.outputs)]


def _side_by_side(node: OnnxNode, values: Sequence[Value], axis: int) -> Value:
    """Values of the directions along a new dimension `axis`."""
    shape = (*values[0].shape[:axis], 1, *values[0].shape[axis:])
    parts = [node.reshape(value, shape) for value in values]
    return parts[0] if len(parts) == 1 else node.add("concat", *parts, axis=axis)


def _weights(
    node: OnnxNode, gates: int, directions: int, inputs: int, i: int, matrices: _Matrices
) -> Weights:
    """The parameters of direction `i`."""
    size = node.integer("hidden_size", min(node.shape(2)[1:], default=0))
    rows = gates * size
    w = matrices(node, 1, "input weights", (directions, rows, inputs))
    r = matrices(node, 2, "state weights", (directions, rows, size))
    bias = np.zeros((directions, 2 * rows), np.float32)
    if node.has(3):
        bias = _constant(node, 3, "bias", (directions, 2 * rows))
    return Weights(w[i], r[i], bias[i, :rows], bias[i, rows:])


def _state(node: OnnxNode, x: Value, size: int, place: int, i: int) -> Value:
    """The state [n, size] of direction `i` before the first step; zeros if it is absent."""
    if not node.has(place):
        return recurrent.initial(node, x, size, f"state {place - _H}")
    state = node.x(place)
    if node.integer("layout", 0):
        state = node.transpose(state, (1, 0, 2))
    directions = len(_REVERSED[node.text("direction", "forward")])
    node.check_shape("initial state", state.shape, (directions, x.shape[1], size))
    if directions > 1:
        state = node.add("slice", state, axes=(0,), starts=(i,), ends=(i + 1,))
    return node.reshape(state, state.shape[1:])


def _activations(node: OnnxNode, default: tuple[str, ...]) -> tuple[str, ...]:
    names = node.attribute("activations")
    return tuple(name.decode().lower() for name in names) if names else default


def _check_activations(node: OnnxNode, expected: tuple[str, ...]) -> None:
    """Refuses activations other than the usual ones, which a node states for each direction."""
    names = _activations(node, expected)
    if names != expected * max(1, len(names) // len(expected)):
        raise node.unsupported(f"its activations are {', '.join(names)}")
