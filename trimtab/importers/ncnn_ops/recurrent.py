"""LSTM, GRU, RNN: sequences [steps, inputs], and states [directions, size]."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary import movement, recurrent
from trimtab.importers.vocabulary.recurrent import Weights

# Rows of the engine's gates among those of ncnn: i, o, f, g among i, f, o, g, and
# z, r, candidate among r, z, candidate.
_LSTM_GATES, _GRU_GATES = (0, 2, 1, 3), (1, 0, 2)

# For each direction of a layer, whether it begins with the last step.
_REVERSED = {"forward": (False,), "reverse": (True,), "both": (False, True)}

_Direction = Callable[[Value, Weights, Sequence[Value], bool], tuple[Value, ...]]
"""(x, weights, states, reverse) -> h of all steps and the last states of one direction."""


@handles("LSTM")
def lstm(layer: NcnnLayer) -> Results:
    """Long short-term memory in all directions, with states as inputs and outputs; float32."""
    outputs = layer.param.integer("num_output", 0)
    size = layer.param.integer("hidden_size", outputs)
    if size != outputs:
        raise layer.unsupported(f"it projects its state of {size} elements")

    def direction(
        x: Value, weights: Weights, states: Sequence[Value], reverse: bool
    ) -> tuple[Value, ...]:
        return recurrent.lstm(layer, x, weights, states[0], states[1], reverse=reverse)

    return _results(layer, _LSTM_GATES, 4, 2, direction)


@handles("GRU")
def gru(layer: NcnnLayer) -> Results:
    """Gated recurrent unit in all directions, with the state as input and output; float32."""

    def direction(
        x: Value, weights: Weights, states: Sequence[Value], reverse: bool
    ) -> tuple[Value, ...]:
        return recurrent.gru(
            layer, x, weights, states[0], linear_before_reset=True, reverse=reverse
        )

    return _results(layer, _GRU_GATES, 4, 1, direction)


@handles("RNN")
def rnn(layer: NcnnLayer) -> Results:
    """Elman's network with tanh in all directions, with the state as input and output; float32."""

    def direction(
        x: Value, weights: Weights, states: Sequence[Value], reverse: bool
    ) -> tuple[Value, ...]:
        return recurrent.rnn(layer, x, weights, states[0], relu=False, reverse=reverse)

    return _results(layer, (0,), 1, 1, direction)


def _results(
    layer: NcnnLayer, order: Sequence[int], biases: int, states: int, direction: _Direction
) -> Results:
    """h of all steps, [steps, directions * size], and the last states, [directions, size] each."""
    p = layer.param
    size, count = p.integer("num_output", 0), p.integer("weight_data_size", 0)
    reversed = _REVERSED.get(p.choice("direction"))
    if p.integer("int8_scale_term", 0):
        raise layer.unsupported("its weights are quantized to 8-bit integers")
    if not reversed:
        raise layer.invalid(f"its direction is {p.text('direction')}, not 0, 1 or 2")
    x = layer.x()
    if len(x.shape) != 3:
        raise layer.invalid(f"its input has {len(x.shape) - 1} dimensions, not 2")
    steps, inputs = x.shape[1:]
    rows, each = len(order) * size, len(reversed)
    if count != each * rows * inputs or size < 1:
        raise layer.invalid(f"it has {count} weights for {inputs} inputs and {size} outputs")
    w = layer.weights((each, rows, inputs), "input weights")
    b = layer.weights((each, biases, size), "bias")
    r = layer.weights((each, rows, size), "state weights")
    first = [_states(layer, 1 + i, each, size) for i in range(states)]
    x = layer.reshape(x, (steps, 1, inputs))
    results = [
        direction(x, _weights(w[i], b[i], r[i], order), [state[i] for state in first], reverse)
        for i, reverse in enumerate(reversed)
    ]
    sequences, *last = zip(*results, strict=True)
    y = layer.value(movement.concat(layer, sequences, 2))
    ends = [layer.value(movement.concat(layer, values, 0)) for values in last]
    shapes = (1, steps, each * size), (1, each, size)
    return layer.reshape(y, shapes[0]), *(layer.reshape(end, shapes[1]) for end in ends)


def _weights(w: Array, b: Array, r: Array, order: Sequence[int]) -> Weights:
    """The parameters of one direction: w: [gates * size, inputs], b: [biases, size],
    r: [gates * size, size]. A fourth bias of three gates is that of the state's product.
    """
    size = r.shape[1]
    state_bias = np.zeros((len(order), size), np.float32)
    if len(b) > len(order):
        state_bias[-1] = b[-1]
    w, r = (v.reshape(len(order), size, -1)[list(order)].reshape(v.shape) for v in (w, r))
    return Weights(w, r, b[list(order)].reshape(-1), state_bias.reshape(-1))


def _states(layer: NcnnLayer, place: int, directions: int, size: int) -> list[Value]:
    """The states [1, size] of all directions before the first step; zeros if they are absent."""
    if not layer.has(place):
        zeros = np.zeros((1, size), np.float32)
        return [layer.constant(zeros, f"state {place - 1}")] * directions
    state = layer.reshape(layer.x(place), (directions, size))
    if directions == 1:
        return [state]
    return list(movement.split(layer, state, 0, (1,) * directions))
