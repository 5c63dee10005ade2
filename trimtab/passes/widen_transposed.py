"""A transposed convolution of few outputs computes the neighbors in a line, of all its horizontal
phases, as the channels of one pixel: in NHWC, these are the same bytes.
"""

from __future__ import annotations

import numpy as np

from trimtab.passes._graph import Graph
from trimtab.passes.assign_layouts import TO_CHANNELS_FIRST, TO_CHANNELS_LAST
from trimtab.program import Op, Program

ORDER = 697  # before the layouts are chosen

_MOST = 32  # outputs: those of a phase alone fill the vectors of a kernel


def run(program: Program) -> None:
    """Only windows whose phases read the same pixels. Leaves free dimensions, and what is joined:
    a view cannot be a part of a larger tensor.
    """
    graph = Graph(program)
    if graph.is_free:
        return
    for op in graph.ops("conv_transpose"):
        parameters = [graph.constant(name) for name in op.inputs[1:] if name]
        joined = any(reader.type == "concat" for reader in graph.readers(op.outputs[0]))
        step, (_, outputs, _, taps) = op.attributes["strides"][1], graph.shape(op.inputs[1])
        sizes = (taps, *op.attributes["pads"][1::2])
        if (
            step > 1
            and outputs <= _MOST
            and not joined
            and all(p is not None for p in parameters)
            and all(size % step == 0 for size in sizes)
            and (op.attributes["group"], op.attributes["dilations"][1]) == (1, 1)
            and op.attributes["output_padding"][1] == 0
        ):
            _widen(graph, op, step)


def _widen(graph: Graph, op: Op, step: int) -> None:
    w, *rest = (graph.constant(name) for name in op.inputs[1:] if name)
    assert w is not None
    inputs, outputs, height, width = w.shape
    phases = w.reshape(inputs, outputs, height, width // step, step).transpose(0, 4, 1, 2, 3)
    wide = np.ascontiguousarray(phases).reshape(inputs, -1, height, width // step)
    constants = [wide, *(np.tile(bias, step) for bias in rest if bias is not None)]
    operands = [op.inputs[0], *map(graph.block.add_constant, constants)]
    top, left, bottom, right = op.attributes["pads"]
    attributes = {
        **op.attributes,
        "strides": (op.attributes["strides"][0], 1),
        "pads": (top, left // step, bottom, right // step),
    }
    make, (n, c, h, width) = graph.block.make_op, graph.shape(op.outputs[0])
    pixels = make("conv_transpose", operands, attributes, 1, op.name)
    lines = make("transpose", pixels.outputs, {"permutation": TO_CHANNELS_LAST}, 1, op.name)
    image = make("reshape", lines.outputs, {"shape": (n, h, width, c)}, 1, op.name)
    graph.insert_before(op, pixels, lines, image)
    graph.substitute(op, "transpose", image.outputs, {"permutation": TO_CHANNELS_FIRST})
