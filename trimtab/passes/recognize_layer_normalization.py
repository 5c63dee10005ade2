"""`(x - mean) / sqrt(variance + epsilon)` over the last dimensions becomes layer_normalization,
which absorbs the scale and the shift after it.

Ba, Kiros & Hinton 2016, "Layer Normalization", equation 3.
"""

from __future__ import annotations

import numpy as np

from trimtab.passes._graph import Graph
from trimtab.passes._match import lines
from trimtab.program import Op, Program

ORDER = 350


def run(program: Program) -> None:
    """Tries every division and multiplication as the last step of the formula."""
    graph = Graph(program)
    for op in graph.ops("div", "mul"):
        if graph.alive(op):
            _recognize(graph, op)
    for op in graph.ops("layer_normalization"):
        _absorb_affine(graph, op)


def _recognize(graph: Graph, op: Op) -> None:
    if op.type == "div":
        factors = [(op.inputs[0], _variance(graph, op.inputs[1], "sqrt", 0.5))]
    else:
        a, b = op.inputs
        factors = [(a, _inverse(graph, b)), (b, _inverse(graph, a))]
    for distance, variance in factors:
        for line in lines(graph, variance) if variance else ():
            axes = _axes_of_squares(graph, line.x, distance)
            if axes and line.scale == 1 and line.shift > 0:
                _replace(graph, op, distance, len(axes), line.shift)
                return


def _inverse(graph: Graph, name: str) -> str:
    """The variable v if `name` is v^-1/2, else ""."""
    division = graph.producer(name, "div")
    if division is not None and graph.scalar(division.inputs[0]) == 1:
        return _variance(graph, division.inputs[1], "sqrt", 0.5)
    return _variance(graph, name, "", -0.5)


def _variance(graph: Graph, name: str, root: str, exponent: float) -> str:
    """The variable v if `name` is the operator `root` of v, or a power with the exponent; else
    "".
    """
    op = graph.producer(name, root, "pow")
    if op is None or (op.type == "pow" and graph.scalar(op.inputs[1]) != exponent):
        return ""
    return op.inputs[0]


def _axes_of_squares(graph: Graph, mean: str, distance: str) -> tuple[int, ...]:
    """The axes over which `mean` is that of distance^2 and `distance` is x minus its mean, if they
    are the last ones; else ().
    """
    of_squares, minus = graph.producer(mean, "reduce_mean"), graph.producer(distance, "sub")
    if of_squares is None or minus is None:
        return ()
    square = graph.producer(of_squares.inputs[0], "mul")
    of_x = graph.producer(minus.inputs[1], "reduce_mean")
    if square is None or square.inputs != [distance, distance] or of_x is None:
        return ()
    if of_x.inputs[0] != minus.inputs[0] or of_x.attributes != of_squares.attributes:
        return ()
    x = graph.shape(minus.inputs[0])
    axes = tuple(sorted(axis % len(x) for axis in of_x.attributes["axes"]))
    is_kept = graph.shape(mean) == tuple(1 if i in axes else n for i, n in enumerate(x))
    is_kept &= graph.is_fixed(minus.inputs[0], axes)
    return axes if is_kept and axes == tuple(range(len(x) - len(axes), len(x))) else ()


def _replace(graph: Graph, op: Op, distance: str, count: int, epsilon: float) -> None:
    minus = graph.producer(distance, "sub")
    assert minus is not None
    x = minus.inputs[0]
    scale = graph.block.add_constant(np.ones(graph.shape(x)[-count:], np.float32))
    values = {"axis": -count, "epsilon": epsilon}
    graph.substitute(op, "layer_normalization", [x, scale], values)


def _absorb_affine(graph: Graph, op: Op) -> None:
    """Moves a multiplication by a constant and then an addition of one into the operator."""
    x, scale, *bias = op.inputs
    shape = graph.shape(scale)
    for type in ("mul", "add"):
        reader = graph.sole_reader(op.outputs[0])
        if reader is None or reader.type != type or (type == "mul" and bias):
            continue
        constant = graph.constant(reader.inputs[1])
        if constant is None or not _fits(constant.shape, shape):
            continue
        parameters = np.broadcast_to(constant.reshape(constant.shape[-len(shape) :]), shape)
        before = graph.constant(scale if type == "mul" else bias[0] if bias else scale)
        if before is None:
            continue
        if type == "mul":
            parameters = before * parameters
        elif bias:
            parameters = before + parameters
        name = graph.block.add_constant(np.ascontiguousarray(parameters.astype(np.float32)))
        inputs = [x, name, *bias] if type == "mul" else [x, scale, name]
        values = {name: op.attributes[name] for name in ("axis", "epsilon")}
        op = graph.substitute(reader, "layer_normalization", inputs, values)
        x, scale, *bias = op.inputs


def _fits(constant: tuple[int, ...], normalized: tuple[int, ...]) -> bool:
    """Whether a constant depends on the normalized dimensions alone."""
    outer = constant[: -len(normalized)]
    inner = constant[-len(normalized) :]
    padded = (1,) * (len(normalized) - len(inner)) + inner
    return all(n == 1 for n in outer) and all(
        n in (1, m) for n, m in zip(padded, normalized, strict=True)
    )
