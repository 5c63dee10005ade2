"""Sums, products and means of quantized numbers, between integers and integers, are computed of
these.
"""

from __future__ import annotations

from trimtab.passes import _qdq as q
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 465  # behind tables, which need neither operand if both are functions of one number


def run(program: Program) -> None:
    """Sums and products of two operands of one shape, products with one number for each channel;
    means over windows, and over height and width.
    """
    graph = Graph(program)
    for op in graph.ops(*_INTEGER):
        operands = op.inputs[:2] if op.type in ("add", "mul") else op.inputs
        xs = [x.name for name in operands if (x := q.stored(graph, name)) is not None]
        end = q.bounded(graph, op.outputs[0])
        if len(xs) < len(operands) or end is None:
            continue
        xs = _in_order(graph, op, xs)
        if not xs:
            continue
        low, high, last = end
        values = {name: op.attributes[name] for name in _WINDOW if name in op.attributes}
        values |= q.bounds(low, high, graph.var(last.outputs[0]))
        graph.substitute(last, _INTEGER[op.type], xs, values)


_INTEGER = {
    "add": "qlinear_add",
    "mul": "qlinear_mul",
    "global_average_pool": "qlinear_mean",
    "average_pool": "qlinear_average_pool",
}

_WINDOW = ("kernel_shape", "strides", "pads", "dilations", "ceil_mode", "count_include_pad")


def _in_order(graph: Graph, op: Op, names: list[str]) -> list[str]:
    """Operands as the integer operator takes them; none where it does not."""
    shapes = [graph.shape(name) for name in names]
    if all(shape == shapes[0] for shape in shapes):
        return names
    if op.type != "mul":
        return []
    names.sort(key=lambda name: -graph.var(name).count)
    (image, gate) = (graph.shape(name) for name in names)
    return names if len(image) == 4 and gate == (*image[:2], 1, 1) else []
