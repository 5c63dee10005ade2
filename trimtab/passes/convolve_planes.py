"""A convolution of few channels, or in small groups, between images in plain order is computed
there, plane by plane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trimtab.passes._graph import Graph
from trimtab.passes.resize_planes import ends_plain, is_plain
from trimtab.program import Op, Program

ORDER = 696  # before the layouts are chosen

_MOST = 8  # input channels of a group: of more, pixels in NHWC fill the vectors of a GEMM
_NARROWEST, _NARROWEST_DEPTHWISE = 16, 32  # columns: channels in NHWC fill vectors, too
_LEAST = 1 << 14  # elements read and written: fewer are converted in a few microseconds


def run(program: Program) -> None:
    """Leaves small images, 1x1 windows, residuals, and what is read or written in NHWC."""
    graph = Graph(program)
    for op in graph.ops("conv"):
        w = graph.constant(op.inputs[1])
        if (
            w is not None
            and w.dtype == np.float32
            and w.shape[1] <= _MOST
            and w.shape[2:] != (1, 1)
            and _is_large(graph, op)
            and graph.var(op.inputs[0]).dtype == "f32"
            and not any(op.inputs[3:])
            and is_plain(graph, graph.producer(op.inputs[0]))
            and ends_plain(graph, op.outputs[0])
        ):
            _replace(graph, op, w)


def _is_large(graph: Graph, op: Op) -> bool:
    """Whether an image is large enough for planes to be faster than two conversions."""
    y = graph.var(op.outputs[0])
    is_depthwise = op.attributes["group"] == y.shape[1] == graph.shape(op.inputs[0])[1]
    narrowest = _NARROWEST_DEPTHWISE if is_depthwise else _NARROWEST
    return y.shape[3] >= narrowest and graph.var(op.inputs[0]).count + y.count >= _LEAST


def _replace(graph: Graph, op: Op, w: NDArray[np.float32]) -> None:
    groups, (outputs, inputs, *taps) = op.attributes["group"], w.shape
    by_group = w.reshape(groups, outputs // groups, inputs, *taps).transpose(0, 2, 3, 4, 1)
    weights = graph.block.add_constant(by_group.reshape(groups * inputs, *taps, -1))
    names = ("strides", "pads", "dilations", "group", "clamp_min", "clamp_max")
    values = {name: op.attributes[name] for name in (*names, "activation", "alpha", "beta")}
    graph.substitute(op, "conv_planes", [op.inputs[0], weights, *op.inputs[2:3]], values)
