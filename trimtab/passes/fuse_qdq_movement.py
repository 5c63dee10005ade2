"""Operators that only move elements (reshape, slice, concat, maximum, ...) act on int8 values:
`dequantize, move` becomes `move, dequantize`. A concat first requantizes its operands to one scale.
Where a movement is quantized afterwards, the quantization moves before it.

A dequantize_linear then directly precedes the operators that compute with its result, or the next
quantize_linear, and later passes fuse these.
"""

from __future__ import annotations

from trimtab.passes import _qdq as q
from trimtab.passes._graph import Graph, is_one_of
from trimtab.program import Op, Program, Var

ORDER = 440


def run(program: Program) -> None:
    """A forward sweep passes consecutive movements one after the other."""
    graph = Graph(program)
    queue = graph.ops("quantize_linear")
    while queue:
        queue += _quantize_first(graph, queue.pop())
    for op in graph.ops():
        if op.inputs and graph.alive(op) and _moves(op):
            if op.type == "concat":
                _fuse_concat(graph, op)
            elif (x := q.stored(graph, op.inputs[0])) is not None:
                _fuse(graph, op, [x], x)


def _quantize_first(graph: Graph, last: Op) -> list[Op]:
    """Swaps a movement and the quantize_linear `last` after it; returns the quantize_linear
    operators that replace `last`.
    """
    y, op = graph.var(last.outputs[0]), graph.producer(last.inputs[0])
    if op is None or graph.sole_reader(op.outputs[0]) is not last or y.dtype != q.DTYPE:
        return []
    if y.quantization is None or y.quantization.axis is not None or not _quantizes_first(graph, op):
        return []
    # A maximum or a concat quantizes more values or tensors than before: only if the quantization
    # can become part of the operator that computes them.
    fuses = op.type in ("max_pool", "concat")
    if not all(graph.is_computed(x) and (graph.sole_reader(x) or not fuses) for x in op.inputs):
        return []
    firsts = []
    for name in op.inputs:
        label = f"{y.name}.first" if len(op.inputs) == 1 else f"{name}.first"
        first = graph.block.make_op("quantize_linear", [name], {"to": q.DTYPE}, 1, label)
        graph.var(first.outputs[0]).quantization = y.quantization
        firsts.append(first)
    graph.insert_before(op, *firsts)
    outputs = [first.outputs[0] for first in firsts]
    graph.substitute(last, op.type, outputs, dict(op.attributes))
    return firsts


def _quantizes_first(graph: Graph, op: Op) -> bool:
    """True for movements that quantization commutes with: those that keep every element, and the
    maximum.
    """
    has_index = any(port.index and not port.sizes for port in op.schema.inputs)
    if has_index or not _moves(op) or not is_one_of(op, op.type):
        return False
    keeps_all = sum(graph.var(x).count for x in op.inputs) == graph.var(op.outputs[0]).count
    return keeps_all or op.type == "max_pool"


def _moves(op: Op) -> bool:
    return q.DTYPE in op.schema.dtypes and op.schema.moves(op.attributes)


def _fuse(graph: Graph, op: Op, xs: list[Var], like: Var) -> None:
    """Makes `op` read the int8 tensors `xs`, quantized like `like`, and dequantizes its results."""
    attributes = dict(op.attributes)
    if op.type == "pad":
        attributes["value"] = float(q.quantization(like)[1])
    operands = [x.name for x in xs] + op.inputs[len(xs) :]
    movement = graph.block.make_op(op.type, operands, attributes, len(op.outputs), op.name)
    dequantizes = []
    for stored, name in zip(movement.outputs, op.outputs, strict=True):
        graph.var(stored).quantization = like.quantization
        del graph.block.vars[name]
        dequantizes.append(graph.block.make_op("dequantize_linear", [stored], {}, [name]))
    graph.replace(op, movement, *dequantizes)


def _fuse_concat(graph: Graph, op: Op) -> None:
    """Operands with different scales are requantized to the scale of the concat's result."""
    stored = [q.stored(graph, name) for name in op.inputs]
    xs = [x for x in stored if x is not None]
    if len(xs) < len(op.inputs):
        return
    like = xs[0]
    if any(x.quantization != like.quantization for x in xs):
        last = q.quantized(graph, op.outputs[0])
        if last is None:
            return
        like = graph.var(last.outputs[0])
        xs = [_requantized(graph, op, n, x, like) for n, x in zip(op.inputs, xs, strict=True)]
    _fuse(graph, op, xs, like)


def _requantized(graph: Graph, op: Op, name: str, x: Var, like: Var) -> Var:
    """The int8 tensor of the operand `name`, with the scale and zero point of `like`."""
    if x.quantization == like.quantization:
        return x
    again = graph.block.make_op("quantize_linear", [name], {"to": q.DTYPE}, 1, f"{name}.again")
    (stored,) = again.outputs
    graph.var(stored).quantization = like.quantization
    graph.insert_before(op, again)
    return graph.var(stored)
