"""Scalar factors of a product of computed matrices and of its operands become one factor of the
smallest of them.
"""

from __future__ import annotations

import math

import numpy as np

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 535


def run(program: Program) -> None:
    """Attention scales its scores by 1 / sqrt(d), or the queries, or queries and keys by the square
    root of it.
    """
    graph = Graph(program)
    for op in graph.ops("mat_mul"):
        _merge(graph, op)


def _merge(graph: Graph, op: Op) -> None:
    operands, scale, scaled = [*op.inputs], 1.0, list[str]()
    for i, name in enumerate(op.inputs):
        producer = graph.producer(name)
        if producer is not None and graph.sole_reader(name) is op and _factor(graph, producer):
            operands[i] = producer.inputs[0]
            scale *= _factor(graph, producer)
            scaled.append(operands[i])
    (result,) = op.outputs
    candidates = [*operands]
    after = graph.sole_reader(result)
    if after is not None and _factor(graph, after):
        scale *= _factor(graph, after)
        scaled.append(result)
        candidates.append(result)
    smallest = min(candidates, key=lambda name: math.prod(graph.shape(name)))
    if scaled in ([], [smallest]) or not math.isfinite(scale):
        return
    constant = graph.block.add_constant(np.array(scale, np.float32))
    if smallest != result:
        factor = graph.block.make_op("mul", [smallest, constant], name=op.name)
        graph.insert_before(op, factor)
        operands[operands.index(smallest)] = factor.outputs[0]
    graph.set_inputs(op, operands)
    if after is not None and result in scaled:
        if smallest == result:
            graph.substitute(after, "mul", [result, constant])
        else:
            graph.bypass(after)


def _factor(graph: Graph, op: Op) -> float:
    """The scalar that an operator multiplies its first operand by, or 0."""
    if op.type not in ("mul", "div"):
        return 0.0
    x, constant = op.inputs
    value = graph.scalar(constant) if graph.have_same_shape(x, op.outputs[0]) else None
    if not value:
        return 0.0
    return value if op.type == "mul" else 1 / value
