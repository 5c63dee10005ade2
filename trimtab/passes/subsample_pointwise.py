"""A strided 1x1 convolution becomes a slice of the pixels that it reads and a 1x1 convolution
without strides.
"""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 530

_TO_THE_END = 2**31 - 1


def run(program: Program) -> None:
    """The copy costs little beside the GEMM, whose rows are then contiguous: they use all cache
    sets, and Strassen's algorithm applies.
    """
    graph = Graph(program)
    for op in graph.ops("conv"):
        strides, pads = op.attributes["strides"], op.attributes["pads"]
        kernel, group = graph.shape(op.inputs[1])[2:], op.attributes["group"]
        if kernel == (1, 1) and max(strides) > 1 and not any(pads) and group == 1:
            _subsample(graph, op)


def _subsample(graph: Graph, op: Op) -> None:
    cut = {
        "axes": (2, 3),
        "starts": (0, 0),
        "ends": (_TO_THE_END, _TO_THE_END),
        "steps": op.attributes["strides"],
    }
    pixels = graph.block.make_op("slice", [op.inputs[0]], cut, 1, op.name)
    graph.insert_before(op, pixels)
    op.attributes["strides"] = op.attributes["dilations"] = (1, 1)
    graph.set_inputs(op, [pixels.outputs[0], *op.inputs[1:]])
