"""Streaming networks, whose states are inputs and outputs of the file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

import trimtab
from trimtab.program import Program

STEPS, FEATURES, SIZE = 3, 7, 13
STATES = {"h0": "@hn", "c0": "@cn", "g0": "@gn", "tail": "@next_tail"}
INPUT = (STEPS, 1, FEATURES)


def recurrent(steps: int | str = STEPS) -> onnx.ModelProto:
    """An LSTM, a GRU, and a causal convolution with two earlier steps; `steps` may be free."""
    rng = np.random.default_rng(3)
    sizes = {
        "w": (1, 4 * SIZE, FEATURES),
        "r": (1, 4 * SIZE, SIZE),
        "gw": (1, 3 * SIZE, SIZE),
        "gr": (1, 3 * SIZE, SIZE),
        "taps": (4, SIZE, 3),
    }
    constants: dict[str, NDArray[np.generic]] = {
        name: (0.3 * rng.standard_normal(shape)).astype(np.float32) for name, shape in sizes.items()
    }
    constants |= {"one": np.array([1]), "two": np.array([2])}
    constants |= {"begin": np.array([-2]), "end": np.array([99])}
    node = helper.make_node
    nodes = [
        node("LSTM", ["x", "w", "r", "", "", "h0", "c0"], ["y", "hn", "cn"], hidden_size=SIZE),
        node("Squeeze", ["y", "one"], ["steps"]),
        node("GRU", ["steps", "gw", "gr", "", "", "g0"], ["g", "gn"], hidden_size=SIZE),
        node("Squeeze", ["g", "one"], ["channels"]),
        node("Transpose", ["channels"], ["turned"], perm=[1, 2, 0]),
        node("Concat", ["tail", "turned"], ["line"], axis=2),
        node("Slice", ["line", "begin", "end", "two"], ["next_tail"]),
        node("Conv", ["line", "taps"], ["sums"]),
        node("Relu", ["sums"], ["out"]),
    ]
    hidden, tail = (1, 1, SIZE), (1, SIZE, 2)
    shapes: dict[str, tuple[int | str, ...]] = {
        "x": (steps, *INPUT[1:]),
        "h0": hidden,
        "c0": hidden,
        "g0": hidden,
        "tail": tail,
    }
    shapes |= {"out": (1, 4, steps), "hn": hidden, "cn": hidden, "gn": hidden, "next_tail": tail}
    infos = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "stream", infos[:5], infos[5:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def counter(dtype: int = onnx.TensorProto.INT64) -> onnx.ModelProto:
    """The number of runs so far, in integers, whose next value is the only output."""
    infos = [helper.make_tensor_value_info(name, dtype, [2, 3]) for name in ("n", "by", "next")]
    nodes = [helper.make_node("Add", ["n", "by"], ["next"])]
    graph = helper.make_graph(nodes, "counter", infos[:2], infos[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def programs() -> Iterator[tuple[str, Program]]:
    """Both networks, with their states inside."""
    yield "recurrent", trimtab.load(recurrent(), STATES)
    yield "counter", trimtab.load(counter(), {"n": "@next"})
