"""Quantized numbers of u8 become i8, 128 less with their zero points: they stand for the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program, Var

ORDER = 430

_SHIFT = 128


def run(program: Program) -> None:
    """Inside of the program. Where u8 goes in or out, or an operator looks at the numbers as they
    are, real numbers are quantized again, which is exact.
    """
    graph = Graph(program)
    bytes = {var.name for var in program.vars.values() if var.dtype == "u8" and var.quantization}
    for op in graph.ops("quantize_linear", "dequantize_linear"):
        border = op.outputs[0] if op.type == "quantize_linear" else op.inputs[0]
        if border in bytes and not _is_inside(graph, border):
            _part(graph, op)
    for var in list(program.vars.values()):
        if var.dtype == "u8" and var.quantization and _is_inside(graph, var.name):
            _sign(graph, var)


def _is_inside(graph: Graph, name: str) -> bool:
    """Whether only quantizing operators know a variable."""
    maker, var = graph.producer(name), graph.var(name)
    made = maker.type == "quantize_linear" if maker else var.data is not None
    readers = graph.readers(name)
    return (
        made
        and not graph.program.is_output(name)
        and name not in graph.program.inputs
        and all(op.type == "dequantize_linear" for op in readers)
    )


def _part(graph: Graph, op: Op) -> None:
    """Puts i8 between real numbers and the u8 of a border: behind a reader, before a maker."""
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
    _shift(outer, graph.var(inner.outputs[0]))


def _shift(outer: Var, inner: Var) -> None:
    q = outer.quantization
    assert q
    points = tuple(point - _SHIFT for point in q.zero_point)
    inner.quantization = replace(q, zero_point=points)


def _sign(graph: Graph, var: Var) -> None:
    maker = graph.producer(var.name)
    if maker:
        maker.attributes["to"] = "i8"
    if var.data is not None:
        var.data = (var.data.astype(np.int16) - _SHIFT).astype(np.int8)
    var.dtype = "i8"
    _shift(var, var)
