"""Constants that no operator on integers reads as they are stored become real numbers."""

from __future__ import annotations

import numpy as np

from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 470


def run(program: Program) -> None:
    """Every constant that is dequantized; but for those that leave the program."""
    graph = Graph(program)
    for op in graph.ops("dequantize_linear"):
        stored, (result,) = graph.var(op.inputs[0]), op.outputs
        if stored.data is None or stored.quantization is None or program.is_output(result):
            continue
        graph.var(result).data = np.ascontiguousarray(stored.quantization.real(stored.data))
        graph.remove(op)
