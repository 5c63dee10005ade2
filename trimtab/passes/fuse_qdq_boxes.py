"""Decoding of boxes reads int8 tensors: `dequantize, decode_boxes` becomes `decode_boxes`, which
compares their scores with its threshold as integers.
"""

from __future__ import annotations

from trimtab.passes import _qdq as q
from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 446


def run(program: Program) -> None:
    """Tensors with one scale; others stay float32."""
    graph = Graph(program)
    for op in graph.ops("decode_boxes"):
        stored = [q.stored(graph, name) for name in op.inputs]
        if any(x is not None for x in stored):
            inputs = [
                name if x is None else x.name for name, x in zip(op.inputs, stored, strict=True)
            ]
            for name in op.outputs:
                del graph.block.vars[name]
            decode = graph.block.make_op(
                "decode_boxes", inputs, dict(op.attributes), op.outputs, op.name
            )
            graph.replace(op, decode)
