"""Recurrent layers: the products with the input weights become one GEMM over all steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.matrix import linear


@dataclass(frozen=True)
class Weights:
    """The parameters of one direction of a layer with `gates` gates.

    `input`: [gates * size, inputs]; `state`: [gates * size, size]; `input_bias`, `state_bias`:
    [gates * size] each. The order of gates is that of the engine's operator.
    """

    input: Array
    state: Array
    input_bias: Array
    state_bias: Array

    @property
    def size(self) -> int:
        """The elements of a state."""
        return int(self.state.shape[1])


def initial(layer: ImportedLayer, x: Value, size: int, role: str) -> Value:
    """The state [n, size] before the first step of x: [steps, n, inputs], zeros."""
    layer.check_elements((x.shape[1], size))
    return layer.constant(np.zeros((x.shape[1], size), np.float32), role)


def lstm(
    layer: ImportedLayer,
    x: Value,
    weights: Weights,
    h: Value,
    c: Value,
    *,
    peepholes: Array | None = None,
    reverse: bool = False,
    round_state: bool = False,
) -> tuple[Value, Value, Value]:
    """(h of all steps, last h, last c) of x: [steps, n, inputs]; gates i, o, f, g. `round_state`:
    each step reads h in 8 bits.
    """
    gates = linear(layer, x, weights.input, weights.input_bias + weights.state_bias)
    more = () if peepholes is None else (layer.constant(peepholes, "peepholes"),)
    state = layer.constant(np.ascontiguousarray(weights.state), "state weights")
    attributes = {"reverse": reverse, "round_state": round_state}
    y, last_c = layer.add_many("lstm", gates, state, h, c, *more, outputs=2, **attributes)
    return y, last(layer, y, reverse), last_c


def clipped_lstm(
    layer: ImportedLayer,
    x: Value,
    weights: Weights,
    h: Value,
    c: Value,
    *,
    clip: float,
    peepholes: Array | None = None,
    reverse: bool = False,
) -> Value:
    """h of all steps of x, as `lstm`, whose cell is clipped to [-clip, clip] after each step, in
    simpler operators for each step.
    """
    steps, n, _ = x.shape
    gates = linear(layer, x, weights.input, weights.input_bias + weights.state_bias)
    state = layer.constant(np.ascontiguousarray(weights.state.T), "state weights")
    sizes = (weights.size,) * 4
    parts = np.split(peepholes, 3) if peepholes is not None else ()
    holes = [layer.constant(part, "peepholes") for part in parts]
    rows = layer.add_many("split", gates, outputs=steps, axis=0, sizes=(1,) * steps)
    results = []
    for row in rows[::-1] if reverse else rows:
        product = layer.add("mat_mul", h, state)
        sums = layer.add("add", layer.reshape(row, (n, sum(sizes))), product)
        i, o, f, g = layer.add_many("split", sums, outputs=4, axis=1, sizes=sizes)
        if holes:
            i = layer.add("add", i, layer.add("mul", c, holes[0]))
            f = layer.add("add", f, layer.add("mul", c, holes[2]))
        older = layer.add("mul", layer.add("sigmoid", f), c)
        new = layer.add("mul", layer.add("sigmoid", i), layer.add("tanh", g))
        c = layer.add("clip", layer.add("add", older, new), alpha=-clip, beta=clip)
        if holes:
            o = layer.add("add", o, layer.add("mul", c, holes[1]))
        h = layer.add("mul", layer.add("sigmoid", o), layer.add("tanh", c))
        results.append(layer.reshape(h, (1, n, weights.size)))
    if len(results) == 1:
        return results[0]
    return layer.add("concat", *(results[::-1] if reverse else results), axis=0)


def gru(
    layer: ImportedLayer,
    x: Value,
    weights: Weights,
    h: Value,
    *,
    linear_before_reset: bool,
    reverse: bool = False,
) -> tuple[Value, Value]:
    """(h of all steps, last h) of x: [steps, n, inputs]; gates z, r, candidate."""
    size = weights.size
    bias, own = weights.input_bias.copy(), weights.state_bias[2 * size :]
    bias[: 2 * size] += weights.state_bias[: 2 * size]
    if not linear_before_reset:
        bias[2 * size :] += own
        own = np.zeros_like(own)
    parts = {
        "gate weights": weights.state[: 2 * size],
        "state weights": weights.state[2 * size :],
        "state bias": own,
    }
    constants = [layer.constant(np.ascontiguousarray(part), role) for role, part in parts.items()]
    gates = linear(layer, x, weights.input, bias)
    y = layer.add(
        "gru", gates, *constants, h, reverse=reverse, linear_before_reset=linear_before_reset
    )
    return y, last(layer, y, reverse)


def rnn(
    layer: ImportedLayer, x: Value, weights: Weights, h: Value, *, relu: bool, reverse: bool
) -> tuple[Value, Value]:
    """(h of all steps, last h) of x: [steps, n, inputs]."""
    product = linear(layer, x, weights.input, weights.input_bias + weights.state_bias)
    state = layer.constant(np.ascontiguousarray(weights.state), "state weights")
    y = layer.add("rnn", product, state, h, reverse=reverse, relu=relu)
    return y, last(layer, y, reverse)


def last(layer: ImportedLayer, y: Value, reverse: bool) -> Value:
    """The state [n, size] after the last step of y: [steps, n, size]."""
    step = 0 if reverse else y.shape[0] - 1
    state = layer.add("slice", y, axes=(0,), starts=(step,), ends=(step + 1,))
    return layer.reshape(state, y.shape[1:])
