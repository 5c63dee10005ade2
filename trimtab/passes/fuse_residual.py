"""`conv(x) + y` becomes a convolution (or GEMM) with the residual operand y."""

from __future__ import annotations

from trimtab.passes import _channel_affine
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 600


def run(program: Program) -> None:
    """The operator moves to the position of the addition, where both operands exist."""
    graph = Graph(program)
    place = {id(op): i for i, op in enumerate(program.ops)}
    for add in graph.ops("add"):
        candidates = [op for name in add.inputs if (op := _candidate(graph, add, name))]
        if candidates:
            # Moving the later producer extends the fewest lifetimes.
            _fuse(graph, add, max(candidates, key=lambda op: place.get(id(op), 0)))


def _candidate(graph: Graph, add: Op, name: str) -> Op | None:
    op = graph.producer(name)
    if op is None or not op.schema.fuses_residual or _channel_affine.is_epilogue_used(op):
        return None
    if graph.sole_reader(name) is not add:
        return None
    return op if graph.have_same_shape(*add.inputs, add.outputs[0]) else None


def _fuse(graph: Graph, add: Op, op: Op) -> None:
    (result,) = op.outputs
    residual = next(name for name in add.inputs if name != result)
    product = [*op.inputs, "", ""][:3]
    graph.substitute(add, op.type, [*product, residual], op.attributes)
