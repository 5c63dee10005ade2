"""The constant operand of a commutative operator becomes the second: `2 + x` is rewritten to
`x + 2`, the form that other passes match.
"""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 110


def run(program: Program) -> None:
    """Two constant operands do not occur: fold_constants has run."""
    graph = Graph(program)
    for op in graph.ops():
        if op.schema.commutative and graph.constant(op.inputs[0]) is not None:
            graph.set_inputs(op, reversed(op.inputs))
