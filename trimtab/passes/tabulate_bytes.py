"""Functions of a quantised number alone, between integers and integers, become tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab import schema
from trimtab.engine import engine
from trimtab.passes import _quantised as q
from trimtab.passes._graph import Graph
from trimtab.passes.fold_constants import with_portable_kernels
from trimtab.program import Op, Program, attributes

ORDER = 460

_BINARY = ("add", "sub", "mul", "div", "max", "min", "pow")


def run(program: Program) -> None:
    """The longest rows of functions that end where numbers are quantised."""
    graph = Graph(program)
    for last in graph.ops("quantize_linear"):
        y = graph.var(last.outputs[0])
        if not graph.alive(last) or y.dtype != q.DTYPE or not y.quantisation or y.quantisation.axis:
            continue
        functions: list[Op] = []
        name = last.inputs[0]
        while (op := graph.producer(name)) is not None and _is_function(graph, op):
            functions.insert(0, op)
            name = op.inputs[0]
        x = q.stored(graph, name)
        if x is None or y.quantisation.axis is not None:
            continue
        if not functions and x.quantisation == y.quantisation:
            if not graph.program.is_output(y.name):
                graph.replace_uses(y.name, x.name)
                graph.remove(last)
            continue
        every = np.arange(256, dtype=np.uint8).view(np.int8)
        assert x.quantisation
        real = x.quantisation.real(every)
        for op in functions:
            real = _computed(graph, op, real)
        table = graph.block.add_constant(q.integers(real, y), f"{last.name}.table")
        graph.substitute(last, "look_up", [x.name, table])


def _is_function(graph: Graph, op: Op) -> bool:
    if op.type in _BINARY:
        scalar = graph.scalar(op.inputs[1])
        return scalar is not None and graph.shape(op.inputs[0]) == graph.shape(op.outputs[0])
    return op.schema.activation and graph.var(op.inputs[0]).dtype == "f32"


def _computed(graph: Graph, op: Op, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The function of every number, by the engine's portable kernel."""
    operands = [(x, schema.DTYPES["f32"])]
    if op.type in _BINARY:
        number = np.array(graph.scalar(op.inputs[1]), np.float32)
        operands.append((number, schema.DTYPES["f32"]))
    block = attributes.encode(op.schema, with_portable_kernels(op, "f32"))
    (result,) = engine().run_operator(op.schema.id, operands, block, 1)
    return np.asarray(result, np.float32).reshape(x.shape)
