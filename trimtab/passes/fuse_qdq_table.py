"""Functions of a quantized number alone, between integers and integers, become tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab import schema
from trimtab.engine import engine
from trimtab.passes import _qdq as q
from trimtab.passes._graph import Graph
from trimtab.passes.fold_constants import with_portable_kernels
from trimtab.program import Op, Program, attributes

ORDER = 460

Reals = NDArray[np.float32]

_EVERY = np.arange(256, dtype=np.uint8).view(np.int8)

_BINARY = ("add", "sub", "mul", "div", "max", "min", "pow")


def run(program: Program) -> None:
    """The longest rows of functions that end where numbers are quantized, whose operands may be
    several functions of one number. A table of a table's results is one table.
    """
    graph = Graph(program)
    for last in graph.ops("quantize_linear"):
        y = graph.var(last.outputs[0])
        if not graph.alive(last) or y.dtype != q.DTYPE or y.quantization is None:
            continue
        if y.quantization.axis is not None:
            continue
        x = q.stored(graph, last.inputs[0])
        if x is not None and x.quantization == y.quantization:
            if not graph.program.is_output(y.name):
                graph.replace_uses(y.name, x.name)
                graph.remove(last)
            continue
        found = _values(graph, last.inputs[0])
        if found is not None:
            stored, real = found
            table = graph.block.add_constant(q.integers(real, y), f"{last.name}.table")
            graph.substitute(last, "look_up", [stored, table])


def _values(graph: Graph, name: str) -> tuple[str, Reals] | None:
    """What integers the real numbers `name` are a function of, and the function of each of them."""
    functions: list[Op] = []
    while (op := graph.producer(name)) is not None and _is_function(graph, op):
        functions.insert(0, op)
        name = op.inputs[0]
    found = _joined(graph, op) if op is not None and op.type in _BINARY else _stored(graph, name)
    if found is None:
        return None
    stored, real = found
    for op in functions:
        real = computed(op, real, graph.scalar(op.inputs[1]) if op.type in _BINARY else None)
    return stored, real


def _stored(graph: Graph, name: str) -> tuple[str, Reals] | None:
    """The same of numbers that are dequantized, which may be what a table gave."""
    x = q.stored(graph, name)
    if x is None or x.quantization is None:
        return None
    real = x.quantization.real(_EVERY)
    if look_up := graph.producer(x.name, "look_up"):
        table = graph.constant(look_up.inputs[1])
        assert table is not None
        return look_up.inputs[0], x.quantization.real(table)
    return x.name, real


def _joined(graph: Graph, op: Op) -> tuple[str, Reals] | None:
    """The same of two operands that are both functions of one number, such as x sigmoid(x)."""
    a, b = (_either(graph, name) for name in op.inputs)
    for left in a:
        for right in b:
            if left[0] == right[0] and graph.shape(left[0]) == graph.shape(op.outputs[0]):
                return left[0], computed(op, left[1], right[1])
    return None


def _either(graph: Graph, name: str) -> list[tuple[str, Reals]]:
    """An operand as a function of what is dequantized, and of what a table made that of."""
    x, behind = q.stored(graph, name), _stored(graph, name)
    if x is None or x.quantization is None or behind is None:
        return []
    return [(x.name, x.quantization.real(_EVERY)), behind]


def _is_function(graph: Graph, op: Op) -> bool:
    if op.type in _BINARY:
        scalar = graph.scalar(op.inputs[1])
        return scalar is not None and graph.shape(op.inputs[0]) == graph.shape(op.outputs[0])
    return op.schema.activation and graph.var(op.inputs[0]).dtype == "f32"


def computed(op: Op, x: Reals, other: Reals | float | None = None) -> Reals:
    """The function of every number, by the portable kernel; `other` is a second operand."""
    operands = [(x, schema.DTYPES["f32"])]
    if other is not None:
        operands.append((np.asarray(other, np.float32), schema.DTYPES["f32"]))
    block = attributes.encode(op.schema, with_portable_kernels(op, "f32"))
    (result,) = engine().run_operator(op.schema.id, operands, block, 1)
    return np.asarray(result, np.float32).reshape(x.shape)
