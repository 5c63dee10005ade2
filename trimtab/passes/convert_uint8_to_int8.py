"""Quantized uint8 tensors become int8: values and zero points decrease by 128, so that the
dequantized values stay the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program, Var

ORDER = 430

_OFFSET = 128


def run(program: Program) -> None:
    """Converts tensors between QDQ operators. Where a graph input or output is uint8, or another
    operator reads the stored values, an exact requantization to int8 is inserted.
    """
    graph = Graph(program)
    names = {var.name for var in program.vars.values() if var.dtype == "u8" and var.quantization}
    for op in graph.ops("quantize_linear", "dequantize_linear"):
        stored = op.outputs[0] if op.type == "quantize_linear" else op.inputs[0]
        if stored in names and not _is_inside(graph, stored):
            _insert_int8(graph, op)
    for var in list(program.vars.values()):
        if var.dtype == "u8" and var.quantization and _is_inside(graph, var.name):
            _convert(graph, var)


def _is_inside(graph: Graph, name: str) -> bool:
    """True if only quantize_linear and dequantize_linear access a variable."""
    producer, var = graph.producer(name), graph.var(name)
    is_quantized = producer.type == "quantize_linear" if producer else var.data is not None
    return (
        is_quantized
        and not graph.program.is_output(name)
        and name not in graph.program.inputs
        and all(op.type == "dequantize_linear" for op in graph.readers(name))
    )


def _insert_int8(graph: Graph, op: Op) -> None:
    """Inserts a pair of int8 QDQ operators before a quantize_linear or after a dequantize_linear
    whose uint8 tensor must stay.
    """
    outer = graph.var(op.outputs[0] if op.type == "quantize_linear" else op.inputs[0])
    make = graph.block.make_op
    if op.type == "quantize_linear":
        inner = make("quantize_linear", op.inputs, {"to": "i8"})
        back = make("dequantize_linear", inner.outputs)
        graph.insert_before(op, inner, back)
        graph.set_inputs(op, back.outputs)
    else:
        inner = make("quantize_linear", op.outputs, {"to": "i8"})
        back = make("dequantize_linear", inner.outputs)
        readers = graph.readers(op.outputs[0])
        if not readers or graph.program.is_output(op.outputs[0]):
            return
        graph.insert_after(op, inner, back)
        graph.replace_uses(op.outputs[0], back.outputs[0], [r for r in readers if r is not inner])
    _shift_zero_point(outer, graph.var(inner.outputs[0]))


def _shift_zero_point(source: Var, target: Var) -> None:
    q = source.quantization
    assert q
    target.quantization = replace(q, zero_point=tuple(z - _OFFSET for z in q.zero_point))


def _convert(graph: Graph, var: Var) -> None:
    producer = graph.producer(var.name)
    if producer:
        producer.attributes["to"] = "i8"
    if var.data is not None:
        var.data = (var.data.astype(np.int16) - _OFFSET).astype(np.int8)
    var.dtype = "i8"
    _shift_zero_point(var, var)
