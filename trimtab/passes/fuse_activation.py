"""An activation moves into the epilogue of the operator before it: clamps as bounds, other
functions by name.
"""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 610


def run(program: Program) -> None:
    """Bounds become clamp_min and clamp_max; other functions become the attribute `activation`."""
    graph = Graph(program)
    for op in graph.ops():
        if op.schema.activation and graph.alive(op):
            target = graph.producer(op.inputs[0])
            if target is not None and graph.sole_reader(op.inputs[0]) is op and _fuse(op, target):
                graph.bypass(op)


def _fuse(op: Op, target: Op) -> bool:
    """Adds `op` to the epilogue of `target`; False if the epilogue cannot express it."""
    if not target.schema.fuses_activation or target.attributes["activation"]:
        return False  # the epilogue clamps before the activation
    values = target.attributes
    if bounds := op.schema.bounds(op.attributes):
        for clamp in ("clamp_min", "clamp_max"):
            values[clamp] = min(max(values[clamp], bounds[0]), bounds[1])
    else:
        values["activation"] = op.type
        values["alpha"] = op.attributes.get("alpha", 0.0)
        values["beta"] = op.attributes.get("beta", 0.0)
    return True
