"""Mean or maximum over height and width, and a pool over the whole image, become global pools."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 400

_REDUCTIONS = {"reduce_mean": "global_average_pool", "reduce_max": "global_max_pool"}
_POOLS = {"average_pool": "global_average_pool", "max_pool": "global_max_pool"}


def run(program: Program) -> None:
    """Global pools need no window table and keep the layout of convolutions."""
    graph = Graph(program)
    for op in graph.ops(*_REDUCTIONS):
        shape = graph.shape(op.inputs[0])
        if len(shape) == 4 and {axis % 4 for axis in op.attributes["axes"]} == {2, 3}:
            _reduce(graph, op)
    for op in graph.ops(*_POOLS):
        window = op.attributes["kernel_shape"]
        whole = window == graph.shape(op.inputs[0])[2:]
        if whole and not any(op.attributes["pads"]) and not graph.is_free:
            graph.substitute(op, _POOLS[op.type], op.inputs)


def _reduce(graph: Graph, op: Op) -> None:
    pool = _REDUCTIONS[op.type]
    if op.attributes["keep_dims"]:
        graph.substitute(op, pool, op.inputs)
        return
    pooled = graph.block.make_op(pool, op.inputs, name=op.name)
    graph.insert_before(op, pooled)
    type, values = graph.view(pooled.outputs[0], range(2))
    graph.substitute(op, type, pooled.outputs, values)
