"""LSTM, GRU, RNN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ops.cases.case import Array, Case, Const, Graph, case, normal

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def _parameters(type: str, inputs: int, size: int, directions: int) -> tuple[Const, Const, Const]:
    rows = GATES[type] * size
    return (
        Const(normal(directions, rows, inputs, seed="w") / inputs**0.5),
        Const(normal(directions, rows, size, seed="r") / size**0.5),
        Const(normal(directions, 2 * rows, seed="b")),
    )


def _layer(
    type: str,
    id: str,
    x: Array,
    size: int,
    *more: Array | Const | None,
    bias: bool = True,
    **attributes: Any,
) -> Case:
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    w, r, b = _parameters(type, x.shape[2], size, directions)
    g = Graph()
    count = 3 if type == "LSTM" else 2
    operands = (x, w, r, b if bias else None, *more)
    first = g.node(type, *operands, outputs=count, hidden_size=size, **attributes)
    return g.case(f"{type}-{id}", first, *(f"{first}.{i}" for i in range(1, count)))


def cases() -> Iterator[Case]:
    """All directions, odd sizes, states, biases, peepholes, both forms of the GRU."""
    x = normal(5, 2, 7)
    for type in GATES:
        for direction in ("forward", "reverse", "bidirectional"):
            n = 2 if direction == "bidirectional" else 1
            states = [normal(n, 2, 9, seed=key) for key in ("h", "c")][: 2 if type == "LSTM" else 1]
            yield _layer(type, direction, x, 9, direction=direction)
            yield _layer(type, f"{direction}-states", x, 9, None, *states, direction=direction)
        yield _layer(type, "no-bias", x, 9, bias=False)
        yield _layer(type, "one-step", normal(1, 1, 3), 33)
        yield _layer(type, "one-element", normal(3, 1, 1), 1)
        yield _layer(type, "wide", normal(4, 1, 40), 65)
        yield _layer(type, "many-rows", normal(3, 17, 5), 6)
        yield _layer(type, "equal-lengths", x, 9, Const(np.array((5, 5), np.int32)))
        w, r, _ = _parameters(type, 7, 9, 1)
        yield case(f"{type}-first-output", type, x, w, r, hidden_size=9)
    for direction in ("forward", "reverse", "bidirectional"):
        yield _layer("GRU", f"{direction}-linear", x, 9, direction=direction, linear_before_reset=1)
        n = 2 if direction == "bidirectional" else 1
        peepholes = Const(normal(n, 27, seed="p"))
        yield _layer(
            "LSTM", f"{direction}-peepholes", x, 9, *[None] * 3, peepholes, direction=direction
        )
    yield _layer("RNN", "relu", x, 9, activations=["Relu"])
