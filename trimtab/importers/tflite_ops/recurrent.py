"""LSTM and RNN over sequences, whose state tensors begin with zeros in each run, and SVDF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.tflite_ops.forms import Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary import matrix, movement, recurrent
from trimtab.importers.vocabulary.recurrent import Weights

_RELU, _TANH = 1, 4  # ActivationFunctionType

_MAX_CLIPPED = 256  # steps of an LSTM that is made of simpler operators

# Rows of the engine's gates i, o, f, g among those of TFLite: i, f, g, o.
_GATES = (0, 3, 1, 2)

# Inputs of a direction of an LSTM, relative to its first weights.
_STATE_WEIGHTS, _PEEPHOLES, _BIASES, _PROJECTION, _LSTM_INPUTS = 4, 8, 11, 15, 17


@handles("UNIDIRECTIONAL_SEQUENCE_LSTM")
def unidirectional_lstm(node: TfliteNode) -> Results:
    """Long short-term memory with all four gates, possibly with peepholes; float32, without
    projection and layer normalization.
    """
    options = node.options("UnidirectionalSequenceLSTMOptions")
    if any(node.has(20 + i) for i in range(4)):
        raise node.unsupported("it has layer normalization")
    if options.DiagonalRecurrentTensors():
        raise node.unsupported("its state weights are diagonals")
    x = _sequence(node, options)
    return _in_order(node, options, _lstm(node, options, x, 1, 18, reverse=False))


@handles("BIDIRECTIONAL_SEQUENCE_LSTM")
def bidirectional_lstm(node: TfliteNode) -> Results:
    """Long short-term memory in both directions with all four gates, possibly with peepholes;
    float32, without projection and auxiliary input.
    """
    options = node.options("BidirectionalSequenceLSTMOptions")
    _refuse_auxiliary(node, 39)
    x = _sequence(node, options)
    y = [_lstm(node, options, x, 1 + i * _LSTM_INPUTS, 35 + 2 * i, reverse=i > 0) for i in (0, 1)]
    return _both(node, options, y)


@handles("UNIDIRECTIONAL_SEQUENCE_RNN")
def unidirectional_rnn(node: TfliteNode) -> Results:
    """Elman's network with tanh or ReLU; float32."""
    options = node.options("SequenceRNNOptions")
    y = _rnn(node, options, _sequence(node, options), 1, reverse=False)
    return _in_order(node, options, y)


@handles("BIDIRECTIONAL_SEQUENCE_RNN")
def bidirectional_rnn(node: TfliteNode) -> Results:
    """Elman's network with tanh or ReLU in both directions; float32, without auxiliary input."""
    options = node.options("BidirectionalSequenceRNNOptions")
    _refuse_auxiliary(node, 9)
    x = _sequence(node, options)
    y = [_rnn(node, options, x, 1 + 4 * i, reverse=i > 0) for i in (0, 1)]
    return _both(node, options, y)


@handles("SVDF")
def svdf(node: TfliteNode) -> Results:
    """Filters over time, whose last features are a state that the model keeps; float32."""
    options, x = node.options("SVDFOptions"), node.x()
    filters, memory = node.shape(2)
    n, rank = x.shape[0], options.Rank()
    if rank < 1 or filters % rank:
        raise node.invalid(f"its rank {rank} does not divide {filters} filters")
    weights = node.parameter(1, "weights", (filters, x.shape[1]))
    times = node.parameter(2, "weights of time", (filters, memory))
    name = node.value_name(node.key(4))
    state = node.context.variables.named(name)
    if state.value is None:
        node.check_elements((n, filters, memory))
        state.state = node.state(np.zeros((n, filters, memory), np.float32), name)
        state.value = state.state
    feature = node.reshape(matrix.linear(node, x, weights), (n, filters, 1))
    older = movement.axis_slice(node, node.value(state.value), 2, 1, memory)
    state.value = node.value(movement.concat(node, [older, feature], 2)) if memory > 1 else feature
    products = node.add("mul", state.value, node.constant(times, "weights of time"))
    y = node.add("reduce_sum", products, axes=(2,), keep_dims=False)
    y = node.reshape(y, (n, filters // rank, rank))
    y = node.add("reduce_sum", y, axes=(2,), keep_dims=False)
    if node.has(3):
        y = node.add("add", y, node.constant(node.parameter(3, "bias", y.shape[1:]), "bias"))
    return node.activated(y, options.FusedActivationFunction())


def _refuse_auxiliary(node: TfliteNode, place: int) -> None:
    if node.has(place):
        raise node.unsupported("it has an auxiliary input")


def _sequence(node: TfliteNode, options: Any) -> Value:
    """The first input as [steps, n, inputs]."""
    x = node.x()
    if len(x.shape) != 3:
        raise node.invalid(f"its input has {len(x.shape)} dimensions, not 3")
    return x if options.TimeMajor() else node.transpose(x, (1, 0, 2))


def _in_order(node: TfliteNode, options: Any, y: Value) -> Value:
    """y: [steps, n, size] in the order of dimensions of the file."""
    return y if options.TimeMajor() else node.transpose(y, (1, 0, 2))


def _both(node: TfliteNode, options: Any, y: Sequence[Value]) -> Results:
    """The results of both directions, side by side or as two outputs."""
    if options.MergeOutputs():
        return _in_order(node, options, node.value(movement.concat(node, y, 2)))
    return tuple(_in_order(node, options, each) for each in y)


def _lstm(
    node: TfliteNode,
    options: Any,
    x: Value,
    first: int,
    state: int,
    *,
    reverse: bool,
) -> Value:
    """h of all steps of one direction, whose weights begin at input `first` and whose states at
    input `state`.
    """
    if options.FusedActivationFunction() != _TANH:
        raise node.unsupported("its activation is not tanh")
    if not node.has(first) or not node.has(first + _STATE_WEIGHTS):
        raise node.unsupported("its input and forget gates are coupled")
    if node.has(first + _PROJECTION):
        raise node.unsupported("it projects its state")
    steps, n, inputs = x.shape
    # From zeros, a cell grows by less than 1 in each step.
    clip = float(options.CellClip())
    clip = 0.0 if steps <= clip and _is_zero(node, state + 1) else clip
    size = node.shape(first + 1)[0]

    def rows(begin: int, what: str, *shape: int) -> Array:
        places = [first + begin + i for i in _GATES]
        return np.concatenate([node.parameter(place, what, shape) for place in places])

    bias = rows(_BIASES, "bias", size)
    weights = Weights(
        rows(0, "weights", size, inputs),
        rows(_STATE_WEIGHTS, "state weights", size, size),
        bias,
        np.zeros_like(bias),
    )
    peepholes = None
    if node.has(first + _PEEPHOLES + 1):
        places = [first + _PEEPHOLES + i for i in (0, 2, 1)]
        peepholes = np.concatenate([node.parameter(i, "peepholes", (size,)) for i in places])
    states = [_state(node, state + i, n, size) for i in (0, 1)]
    if clip > 0:
        if steps > _MAX_CLIPPED:
            raise node.unsupported(f"it clips its cell in {steps} steps, more than {_MAX_CLIPPED}")
        return recurrent.clipped_lstm(
            node, x, weights, *states, clip=clip, peepholes=peepholes, reverse=reverse
        )
    return recurrent.lstm(node, x, weights, *states, peepholes=peepholes, reverse=reverse)[0]


def _rnn(node: TfliteNode, options: Any, x: Value, first: int, *, reverse: bool) -> Value:
    """h of all steps of one direction, whose weights begin at input `first`."""
    kind = options.FusedActivationFunction()
    if kind not in (_RELU, _TANH):
        raise node.unsupported("its activation is neither tanh nor ReLU")
    size = node.shape(first)[0]
    bias = node.parameter(first + 2, "bias", (size,))
    weights = Weights(
        node.parameter(first, "weights", (size, x.shape[2])),
        node.parameter(first + 1, "state weights", (size, size)),
        bias,
        np.zeros_like(bias),
    )
    h = _state(node, first + 3, x.shape[1], size)
    return recurrent.rnn(node, x, weights, h, relu=kind == _RELU, reverse=reverse)[0]


def _is_zero(node: TfliteNode, place: int) -> bool:
    return node.is_known(place) and not node.known(place, "state").any()


def _state(node: TfliteNode, place: int, n: int, size: int) -> Value:
    state = node.x(place)
    node.check_shape("state", state.shape, (n, size))
    return state
