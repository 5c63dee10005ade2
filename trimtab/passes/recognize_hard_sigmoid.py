"""`clip(a x + b, 0, m) / m` becomes hard_sigmoid."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.passes._match import lines, near, products
from trimtab.program import Op, Program

ORDER = 300


def run(program: Program) -> None:
    """Tries every multiplication, division and clip as the root of the formula."""
    graph = Graph(program)
    for op in graph.ops("mul", "div", "clip"):
        if graph.alive(op):
            _rewrite(graph, op)


def _rewrite(graph: Graph, op: Op) -> None:
    for product in products(graph, op.outputs[0]):
        if len(product.factors) != 1:
            continue
        clip = graph.producer(product.factors[0], "clip")
        if clip is None or clip.attributes["alpha"] != 0:
            continue
        if not near(clip.attributes["beta"] * product.scale, 1.0):
            continue
        # x clipped to [0, 1] remains a clip, which is cheaper.
        line = list(lines(graph, clip.inputs[0]))[-1]
        if line.scale * product.scale > 0 and line.x != clip.inputs[0]:
            values = {"alpha": line.scale * product.scale, "beta": line.shift * product.scale}
            graph.substitute(op, "hard_sigmoid", [line.x], values)
            return
