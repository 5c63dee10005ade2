"""Functions of one int8 tensor with a quantized result become tables of 256 int8 values; also
products of several such functions, such as `x sigmoid(x)`.
"""

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

Array = NDArray[np.float32]

_ALL_INT8 = np.arange(256, dtype=np.uint8).view(np.int8)


def run(program: Program) -> None:
    """Fuses the longest chains that end at a quantize_linear. A table of a table's results is one
    table.
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
        match = _match(graph, last.inputs[0])
        if match is not None:
            stored, values = match
            table = graph.block.add_constant(q.quantize(values, y), f"{last.name}.table")
            graph.substitute(last, "look_up", [stored, table])


def _match(graph: Graph, name: str) -> tuple[str, Array] | None:
    """The int8 tensor that `name` is a function of, and the function's float32 value for each of
    the 256 int8 values.
    """
    functions: list[Op] = []
    while (op := graph.producer(name)) is not None and _is_function(graph, op):
        functions.insert(0, op)
        name = op.inputs[0]
    is_binary = op is not None and op.schema.kind == "binary"
    match = _binary(graph, op) if op is not None and is_binary else _dequantized(graph, name)
    if match is None:
        return None
    stored, values = match
    for op in functions:
        scalar = graph.scalar(op.inputs[1]) if op.schema.kind == "binary" else None
        values = computed(op, values, scalar)
    return stored, values


def _dequantized(graph: Graph, name: str) -> tuple[str, Array] | None:
    """The match of a dequantized tensor; looks through a table that produced it."""
    x = q.stored(graph, name)
    if x is None or x.quantization is None:
        return None
    if look_up := graph.producer(x.name, "look_up"):
        table = graph.constant(look_up.inputs[1])
        assert table is not None
        return look_up.inputs[0], x.quantization.dequantize(table)
    return x.name, x.quantization.dequantize(_ALL_INT8)


def _binary(graph: Graph, op: Op) -> tuple[str, Array] | None:
    """The match of a binary operator whose operands are functions of one tensor."""
    a, b = (_sources(graph, name) for name in op.inputs)
    for left in a:
        for right in b:
            if left[0] == right[0] and graph.have_same_shape(left[0], op.outputs[0]):
                return left[0], computed(op, left[1], right[1])
    return None


def _sources(graph: Graph, name: str) -> list[tuple[str, Array]]:
    """An operand as a function of its int8 tensor, and of the tensor before a table."""
    x, before_table = q.stored(graph, name), _dequantized(graph, name)
    if x is None or x.quantization is None or before_table is None:
        return []
    return [(x.name, x.quantization.dequantize(_ALL_INT8)), before_table]


def _is_function(graph: Graph, op: Op) -> bool:
    if op.schema.kind == "binary":
        scalar = graph.scalar(op.inputs[1])
        return scalar is not None and graph.have_same_shape(op.inputs[0], op.outputs[0])
    return op.schema.activation and graph.var(op.inputs[0]).dtype == "f32"


def computed(op: Op, x: Array, other: Array | float | None = None) -> Array:
    """Computes `op` of x by its portable kernel; `other` is the second operand, if it has one."""
    operands = [(x, schema.DTYPES["f32"])]
    if other is not None:
        operands.append((np.asarray(other, np.float32), schema.DTYPES["f32"]))
    block = attributes.encode(op.schema, with_portable_kernels(op, "f32"))
    (result,) = engine().run_operator(op.schema.id, operands, block, 1)
    return np.asarray(result, np.float32).reshape(x.shape)
