"""Sums, products and means between dequantized operands and a quantized result become int8
operators.
"""

from __future__ import annotations

from trimtab.passes import _qdq as q
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 465  # after fuse_qdq_table, which needs neither operand if both depend on one tensor

_WINDOW = ("kernel_shape", "strides", "pads", "dilations", "ceil_mode", "count_include_pad")


def run(program: Program) -> None:
    """Sums and products of two tensors of one shape, products with one factor per channel, average
    pools and global average pools.
    """
    graph = Graph(program)
    for op in graph.ops():
        if not op.schema.quantized_as or op.schema.channel_axis is not None:
            continue
        operands = op.inputs[: len([p for p in op.schema.inputs if not p.optional])]
        xs = [x.name for name in operands if (x := q.stored(graph, name)) is not None]
        end = q.bounded(graph, op.outputs[0])
        if len(xs) < len(operands) or end is None:
            continue
        xs = _ordered(graph, op, xs)
        if not xs:
            continue
        low, high, last = end
        values = {name: op.attributes[name] for name in _WINDOW if name in op.attributes}
        values |= q.clamp_attributes(low, high, graph.var(last.outputs[0]))
        graph.substitute(last, op.schema.quantized_as, xs, values)


def _ordered(graph: Graph, op: Op, names: list[str]) -> list[str]:
    """The operands in the order of the int8 operator; [] if it does not support their shapes."""
    if graph.have_same_shape(*names):
        return names
    if op.type != "mul":
        return []
    names.sort(key=lambda name: -graph.var(name).count)
    (image, gate) = (graph.shape(name) for name in names)
    return names if len(image) == 4 and gate == (*image[:2], 1, 1) else []
