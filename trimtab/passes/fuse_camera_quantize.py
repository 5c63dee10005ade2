"""A camera's picture that is quantized at once is written as int8 values."""

from __future__ import annotations

from trimtab.passes import _qdq as q
from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 445


def run(program: Program) -> None:
    """`camera_image, quantize_linear` becomes a `camera_image` to int8."""
    graph = Graph(program)
    for op in graph.ops("camera_image"):
        last = graph.sole_reader(op.outputs[0])
        if last is None or last.type != "quantize_linear":
            continue
        y = graph.var(last.outputs[0])
        if y.dtype == q.DTYPE and y.quantization is not None and y.quantization.axis is None:
            new = graph.substitute(last, op.type, op.inputs, {**op.attributes, "to": q.DTYPE})
            if op.outputs[1:]:  # the placement
                outputs = [*new.outputs, *op.outputs[1:]]
                graph.set_outputs(op, op.outputs[:1])
                graph.set_outputs(new, outputs)
                graph.remove(op)
