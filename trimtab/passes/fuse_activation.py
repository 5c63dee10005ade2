"""An activation becomes the epilogue of the operator before it."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 610


def run(program: Program) -> None:
    """Bounds become clamp_min and clamp_max, other functions the operator's `activation`."""
    graph = Graph(program)
    for op in graph.ops():
        if op.schema.activation and graph.alive(op):
            target = graph.producer(op.inputs[0])
            if target is not None and graph.sole_reader(op.inputs[0]) is op and _fuse(op, target):
                graph.bypass(op)


def _fuse(op: Op, target: Op) -> bool:
    """Adds `op` to the epilogue of `target`; False when there is no room for it."""
    if not target.schema.fuses_activation or target.attributes["activation"]:
        return False  # the clamp comes before the activation
    values = target.attributes
    if op.type in ("relu", "clip"):
        low, high = (op.attributes.get("alpha", 0.0), op.attributes.get("beta", float("inf")))
        for bound in ("clamp_min", "clamp_max"):
            values[bound] = min(max(values[bound], low), high)
    else:
        values["activation"] = op.type
        values["alpha"] = op.attributes.get("alpha", 0.0)
        values["beta"] = op.attributes.get("beta", 0.0)
    return True
