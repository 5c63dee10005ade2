"""Operators that only move quantized numbers move them as they are stored.

Where a value is dequantized and then moved, it is moved and then dequantized: then the
dequantizing operator meets the operators that compute with it, or the next quantizing one.
"""

from __future__ import annotations

import numpy as np

from trimtab.passes import _qdq as q
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program, Var

ORDER = 440


def run(program: Program) -> None:
    """Goes forward, so that movements in a row are passed one after the other."""
    graph = Graph(program)
    waiting = graph.ops("quantize_linear")
    while waiting:
        waiting += _quantize_first(graph, waiting.pop())
    for op in graph.ops():
        if op.inputs and graph.alive(op) and _moves(op):
            if op.type == "concat":
                _join(graph, op)
            elif (x := q.stored(graph, op.inputs[0])) is not None:
                _pass(graph, op, [x], x)


_LATER = ("reshape", "transpose", "max_pool", "concat")  # rounding first changes nothing


def _quantize_first(graph: Graph, last: Op) -> list[Op]:
    """Lets numbers be quantized before they are moved, if a movement is what is quantized; the
    operators that quantize then.
    """
    y, op = graph.var(last.outputs[0]), graph.producer(last.inputs[0], *_LATER)
    alone = op is not None and graph.sole_reader(op.outputs[0]) is last
    if op is None or not alone or y.dtype != q.DTYPE or not _moves(op):
        return []
    if y.quantization is None or y.quantization.axis is not None:
        return []
    # What is quantized before a maximum are more numbers: only where a product may give them so.
    several = op.type in ("max_pool", "concat")
    if not all(graph.is_computed(x) and (graph.sole_reader(x) or not several) for x in op.inputs):
        return []
    firsts = []
    for name in op.inputs:
        made = f"{y.name}.first" if len(op.inputs) == 1 else f"{name}.first"
        first = graph.block.make_op("quantize_linear", [name], {"to": q.DTYPE}, 1, made)
        graph.var(first.outputs[0]).quantization = y.quantization
        firsts.append(first)
    graph.insert_before(op, *firsts)
    outputs = [first.outputs[0] for first in firsts]
    graph.substitute(last, op.type, outputs, dict(op.attributes))
    return firsts


def _moves(op: Op) -> bool:
    """Whether the results are some of the operator's first operand, as they are."""
    if op.type == "resize":
        return q.DTYPE in op.schema.dtypes and op.attributes["mode"] == "nearest"
    if op.type == "pad":
        zeros = op.attributes["mode"] != "constant" or op.attributes["value"] == 0
        return q.DTYPE in op.schema.dtypes and zeros
    if op.type == "max_pool":
        return q.DTYPE in op.schema.dtypes and op.attributes["pad_value"] == -np.inf
    return op.schema.only_moves and op.type not in ("cast", "where", "convert_layout")


def _pass(graph: Graph, op: Op, xs: list[Var], kept: Var) -> None:
    """Lets `op` read `xs`, quantized as `kept` is, and what it gave be dequantized behind it."""
    attributes = dict(op.attributes)
    if op.type == "pad":
        attributes["value"] = float(q.quantization(kept)[1])
    operands = [x.name for x in xs] + op.inputs[len(xs) :]
    moved = graph.block.make_op(op.type, operands, attributes, len(op.outputs), op.name)
    reals = []
    for stored, name in zip(moved.outputs, op.outputs, strict=True):
        graph.var(stored).quantization = kept.quantization
        del graph.block.vars[name]
        reals.append(graph.block.make_op("dequantize_linear", [stored], {}, [name]))
    graph.replace(op, moved, *reals)


def _join(graph: Graph, op: Op) -> None:
    """A concatenation of numbers of different scales is one of the scale that it is given then."""
    found = [q.stored(graph, name) for name in op.inputs]
    xs = [x for x in found if x is not None]
    if len(xs) < len(op.inputs):
        return
    kept = xs[0]
    if any(x.quantization != kept.quantization for x in xs):
        last = q.quantized(graph, op.outputs[0])
        if last is None:
            return
        kept = graph.var(last.outputs[0])
        xs = [_again(graph, op, name, x, kept) for name, x in zip(op.inputs, xs, strict=True)]
    _pass(graph, op, xs, kept)


def _again(graph: Graph, op: Op, name: str, x: Var, wanted: Var) -> Var:
    """An operand as it is stored when it is quantized as `wanted` is."""
    if x.quantization == wanted.quantization:
        return x
    again = graph.block.make_op("quantize_linear", [name], {"to": q.DTYPE}, 1, f"{name}.again")
    (made,) = again.outputs
    graph.var(made).quantization = wanted.quantization
    graph.insert_before(op, again)
    return graph.var(made)
