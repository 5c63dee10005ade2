"""A resize whose result is read in plain order resamples each channel as an image of its own."""

from __future__ import annotations

import math

from trimtab.passes._graph import Graph
from trimtab.passes.assign_layouts import TO_CHANNELS_FIRST, TO_CHANNELS_LAST
from trimtab.program import Op, Program

ORDER = 695  # before the layouts are chosen

_MOST = 32  # channels; of more, pixels in NHWC are faster, whose result is then converted


def run(program: Program) -> None:
    """The planes have the same bytes in both layouts: only the input may be converted, which is
    smaller. Leaves free dimensions.
    """
    graph = Graph(program)
    if graph.is_free:
        return
    for op in graph.ops("resize"):
        (n, c, *size), y = graph.shape(op.inputs[0]), graph.shape(op.outputs[0])
        grows = math.prod(y[2:]) >= math.prod(size)
        starts_plain = is_plain(graph, graph.producer(op.inputs[0]))
        crops = op.attributes["coordinate_mode"] == "tf_crop_and_resize"
        if c == 1 or not grows or crops or not (starts_plain or c <= _MOST):
            continue
        if ends_plain(graph, op.outputs[0]):
            _split(graph, op, (n * c, 1, *size))


def is_plain(graph: Graph, op: Op | None) -> bool:
    """Whether the results of an operator are in plain order; those of none are inputs. A transpose
    may only spell out the other layout.
    """
    if op is None or op.schema.layout == "plain":
        return op is None or op.attributes.get("permutation") != TO_CHANNELS_FIRST
    return op.schema.layout == "any" and all(
        is_plain(graph, graph.producer(name)) for name in op.inputs if graph.is_computed(name)
    )


def ends_plain(graph: Graph, name: str) -> bool:
    """Whether nothing reads `name`, or what follows from it element by element, in NHWC."""
    return all(
        (op.schema.layout == "plain" and op.attributes.get("permutation") != TO_CHANNELS_LAST)
        or (op.schema.layout == "any" and all(ends_plain(graph, y) for y in op.outputs))
        for op in graph.readers(name)
    )


def _split(graph: Graph, op: Op, planes: tuple[int, ...]) -> None:
    before = graph.block.make_op("reshape", [op.inputs[0]], {"shape": planes}, 1, op.name)
    resize = graph.block.make_op("resize", before.outputs, op.attributes, 1, op.name)
    graph.insert_before(op, before, resize)
    graph.substitute(op, "reshape", resize.outputs, {"shape": graph.shape(op.outputs[0])})
