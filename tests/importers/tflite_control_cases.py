"""TFLite networks with subgraphs: IF, WHILE, STABLEHLO_COMPOSITE and variables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from flatbuffers import flexbuffers

from tests.importers.tflite_case import POINTWISE
from tests.importers.tflite_writer import Model
from tests.ops.cases.case import normal

X, WEIGHTS, BIAS = normal(1, 5, 7, 4), normal(4, 1, 1, 4, seed="w"), normal(4, seed="b")
FIRST = normal(1, 5, 7, 4, seed="first")


def _unary(type: str, factor: float = 1.0) -> Model:
    """A graph: type(factor * x)."""
    graph = Model()
    x = graph.argument(*X.shape)
    if factor != 1.0:
        constant = graph.constant(np.float32(factor))
        (x,) = graph.add("MUL", [x, constant], [X.shape], "MulOptions")
    graph.outputs = graph.add(type, [x], [X.shape])
    return graph


def branches(value: bool, constant: bool) -> Model:
    """An image of one of two functions of a convolution."""
    model = Model()
    x = model.input(X)
    operands = [x, model.constant(WEIGHTS), model.constant(BIAS)]
    (y,) = model.add("CONV_2D", operands, [X.shape], "Conv2DOptions", **POINTWISE)
    condition = np.array([value])
    graphs = [model.graph(_unary("RELU", 2.0)), model.graph(_unary("TANH"))]
    where = model.constant(condition) if constant else model.input(condition)
    model.outputs = model.add(
        "IF",
        [where, y],
        [X.shape],
        "IfOptions",
        ThenSubgraphIndex=graphs[0],
        ElseSubgraphIndex=graphs[1],
    )
    return model


def loop(limit: float, constant: bool) -> Model:
    """x and a counter: x = 1.5 x + 1 for 6 iterations, or while x[0] is below a limit."""
    condition, body, model = Model(), Model(), Model()
    i, x = condition.argument(dtype="int32"), condition.argument(*X.shape)
    (is_early,) = condition.add("LESS", [i, condition.constant(6)], [()], "LessOptions", "bool")
    condition.outputs = [is_early]
    if not constant:
        begin, one = condition.constant([0, 0, 0, 0]), condition.constant([1, 1, 1, 1])
        (element,) = condition.add("SLICE", [x, begin, one], [(1, 1, 1, 1)], "SliceOptions")
        shape = condition.constant(np.zeros(0, np.int32))
        (element,) = condition.add("RESHAPE", [element, shape], [()])
        operands = [element, condition.constant(np.float32(limit))]
        (is_small,) = condition.add("LESS", operands, [()], "LessOptions", "bool")
        condition.outputs = condition.add("LOGICAL_AND", [is_early, is_small], [()], "", "bool")
    i, x = body.argument(dtype="int32"), body.argument(*X.shape)
    (next_i,) = body.add("ADD", [i, body.constant(1)], [()], "AddOptions", "int32")
    (scaled,) = body.add("MUL", [x, body.constant(np.float32(1.5))], [X.shape], "MulOptions")
    (shifted,) = body.add("ADD", [scaled, body.constant(np.float32(1))], [X.shape], "AddOptions")
    body.outputs = [next_i, shifted]
    numbers = model.graph(condition), model.graph(body)
    operands = [model.constant(0), model.input(X)]
    results = model.add(
        "WHILE",
        operands,
        [(), X.shape],
        "WhileOptions",
        CondSubgraphIndex=numbers[0],
        BodySubgraphIndex=numbers[1],
    )
    model.tensors[results[0]].type = 2  # int32
    model.outputs = results
    return model


def composite() -> Model:
    model = Model()
    number = model.graph(_unary("TANH", 0.5))
    model.outputs = model.add(
        "STABLEHLO_COMPOSITE",
        [model.input(X)],
        [X.shape],
        "StableHLOCompositeOptions",
        Name="odml.example",
        CompositeAttributes=bytes(flexbuffers.Dumps({"factor": 1})),
        DecompositionSubgraphIndex=number,
    )
    return model


_BOTH = (True, False)

CONTROL: dict[str, Model] = {
    "composite": composite(),
    **{f"if_{value}_{fixed}": branches(value, fixed) for value in _BOTH for fixed in _BOTH},
    "while": loop(0, True),
    **{f"while_{limit}": loop(limit, False) for limit in (-100.0, 2.0, 5.0, 1000.0)},
}


def _stateful(*names: str) -> Model:
    """A network whose variables begin with FIRST, 2 FIRST, ..."""
    model, once = Model(), Model()
    for factor, name in enumerate(names, 1):
        once.assign(name, once.constant(factor * FIRST))
    model.add("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=model.graph(once))
    return model


def _sum(model: Model, a: int, b: int) -> int:
    return model.add("ADD", [a, b], [X.shape], "AddOptions")[0]


def accumulator() -> Model:
    """y = tanh(all inputs so far), behind a convolution."""
    model = _stateful("sum")
    x = model.input(X)
    total = _sum(model, model.read("sum", *X.shape), x)
    model.assign("sum", total)
    model.outputs = model.add("TANH", [total], [X.shape])
    return model


def delay() -> Model:
    """The input of two runs before, and the sum with it."""
    model = _stateful("one", "two")
    x = model.input(X)
    one, two = model.read("one", *X.shape), model.read("two", *X.shape)
    model.assign("two", one)
    model.assign("one", x)
    model.outputs = [two, _sum(model, x, two)]
    return model


def exchange() -> Model:
    """Two variables that take each other's values; x + one - two."""
    model = _stateful("one", "two")
    x = model.input(X)
    one, two = model.read("one", *X.shape), model.read("two", *X.shape)
    model.assign("two", one)
    model.assign("one", two)
    (difference,) = model.add("SUB", [one, two], [X.shape], "SubOptions")
    model.outputs = [_sum(model, x, difference)]
    return model


def read_back() -> Model:
    """Reads a variable that the run has assigned, and one that no run assigns."""
    model = _stateful("weights", "twice")
    x = model.input(X)
    (scaled,) = model.add("MUL", [x, model.read("weights", *X.shape)], [X.shape], "MulOptions")
    model.assign("twice", _sum(model, scaled, scaled))
    model.outputs = [model.read("twice", *X.shape)]
    return model


def branch() -> Model:
    """Adds to a variable where the mean of the input is positive, else replaces it."""
    model = _stateful("sum")
    x = model.input(X)
    graphs = []
    for adds in (True, False):
        graph = Model()
        argument = graph.argument(*X.shape)
        value = _sum(graph, graph.read("sum", *X.shape), argument) if adds else argument
        graph.assign("sum", value)
        graph.outputs = graph.add("NEG", [value], [X.shape], "NegOptions")
        graphs.append(model.graph(graph))
    axes = model.constant([0, 1, 2, 3])
    (mean,) = model.add("MEAN", [x, axes], [()], "ReducerOptions")
    zero = model.constant(np.float32(0))
    (condition,) = model.add("GREATER", [mean, zero], [()], "GreaterOptions", "bool")
    model.outputs = model.add(
        "IF",
        [condition, x],
        [X.shape],
        "IfOptions",
        ThenSubgraphIndex=graphs[0],
        ElseSubgraphIndex=graphs[1],
    )
    return model


STREAMS: dict[str, Callable[[], Model]] = {
    function.__name__: function for function in (accumulator, delay, exchange, read_back, branch)
}
