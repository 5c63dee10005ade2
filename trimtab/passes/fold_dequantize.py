"""Quantized constants that no int8 operator reads are dequantized at compile time."""

from __future__ import annotations

import numpy as np

from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 470


def run(program: Program) -> None:
    """Folds every dequantize_linear of a constant, except for graph outputs."""
    graph = Graph(program)
    for op in graph.ops("dequantize_linear"):
        stored, (result,) = graph.var(op.inputs[0]), op.outputs
        if stored.data is None or stored.quantization is None or program.is_output(result):
            continue
        graph.var(result).data = np.ascontiguousarray(stored.quantization.dequantize(stored.data))
        graph.remove(op)
