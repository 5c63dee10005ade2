"""Test cases of recurrent TFLite operators."""

from __future__ import annotations

from typing import Any

from tests.importers.caffe_writer import random
from tests.importers.tflite_writer import Model


def lstm(
    both: bool,
    time_major: bool,
    peepholes: bool,
    merged: bool,
    clip: float = 10.0,
    steps: int = 5,
) -> Model:
    """An LSTM of 5 steps, 2 sequences, 3 inputs and 4 elements."""
    model = Model()
    leading = (steps, 2) if time_major else (2, steps)
    x = model.input(random(*leading, 3, seed=20, low=-2, high=2))
    inputs = [x]
    for direction in range(1 + both):
        shapes: list[tuple[int, ...]] = [(4, 3)] * 4 + [(4, 4)] * 4 + [(4,)] * 7
        for i, shape in enumerate(shapes):
            is_absent = 8 <= i < 11 and not peepholes
            value = random(*shape, seed=30 + 20 * direction + i)
            inputs.append(-1 if is_absent else model.constant(value))
        inputs += [-1, -1]
    inputs += [model.variable(2, 4) for _ in range(2 + 2 * both)]
    inputs += [-1] * (9 if both else 4)
    fields: dict[str, Any] = {"TimeMajor": time_major, "FusedActivationFunction": 4}
    if both:
        fields["MergeOutputs"] = merged
    name = "Bidirectional" if both else "Unidirectional"
    results = [(*leading, 8)] if merged else [(*leading, 4)] * (1 + both)
    fields["CellClip"] = clip
    type = f"{name.upper()}_SEQUENCE_LSTM"
    model.outputs = model.add(type, inputs, results, f"{name}SequenceLSTMOptions", **fields)
    return model


def _elman(both: bool, time_major: bool, activation: int) -> Model:
    """An RNN of 5 steps, 2 sequences, 3 inputs and 4 elements."""
    model = Model()
    leading = (5, 2) if time_major else (2, 5)
    inputs = [model.input(random(*leading, 3, seed=20, low=-2, high=2))]
    for direction in range(1 + both):
        for i, shape in enumerate(((4, 3), (4, 4), (4,))):
            value = random(*shape, seed=30 + 20 * direction + i, low=-0.5, high=0.5)
            inputs.append(model.constant(value))
        inputs.append(model.variable(2, 4))
    fields: dict[str, Any] = {"TimeMajor": time_major, "FusedActivationFunction": activation}
    type, options = "UNIDIRECTIONAL_SEQUENCE_RNN", "SequenceRNNOptions"
    if both:
        inputs += [-1] * 3
        type, options = "BIDIRECTIONAL_SEQUENCE_RNN", "BidirectionalSequenceRNNOptions"
    model.outputs = model.add(type, inputs, [(*leading, 4)] * (1 + both), options, **fields)
    return model


def sequences() -> dict[str, Model]:
    """All cases by name."""
    result = {}
    for time_major in (False, True):
        for peepholes in (False, True):
            # LiteRT 2 gives merged outputs that are not time-major other values in each run.
            for both, merged in ((False, False), (True, False), (True, True))[: 2 + time_major]:
                name = f"lstm_{both}_{merged}_{time_major}_{peepholes}"
                result[name] = lstm(both, time_major, peepholes, merged)
            for both in (False, True):
                name = f"lstm_clipped_{both}_{time_major}_{peepholes}"
                result[name] = lstm(both, time_major, peepholes, False, clip=0.25)
        for both in (False, True):
            for activation in (1, 4):
                result[f"rnn_{both}_{time_major}_{activation}"] = _elman(
                    both, time_major, activation
                )
    return result
