"""A convolution loses the rows and columns of its window that lie in the padding for every output:
those of a dilated window larger than the image, or of a 3x3 window over a single pixel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 525


def run(program: Program) -> None:
    """The weights of the taps that are left stay as they are. Weights with several readers are not
    cut, because each would carry a copy.
    """
    graph = Graph(program)
    for op in graph.ops("conv", "qlinear_conv"):
        if graph.constant(op.inputs[1]) is None or graph.sole_reader(op.inputs[1]) is None:
            continue
        cuts = [_live(graph, op, axis) for axis in (0, 1)]
        if cuts != [(0, size) for size in graph.shape(op.inputs[1])[2:]]:
            _cut(graph, op, cuts)


def _live(graph: Graph, op: Op, axis: int) -> tuple[int, int]:
    """The taps [first, end) of a window's rows (0) or columns (1) that are left."""
    count = graph.shape(op.inputs[1])[2 + axis]
    size, out = (graph.shape(name)[2 + axis] for name in (op.inputs[0], op.outputs[0]))
    step, dilation = op.attributes["strides"][axis], op.attributes["dilations"][axis]
    before, after = op.attributes["pads"][axis], op.attributes["pads"][2 + axis]
    starts = np.arange(out) * step - before
    places = starts[:, np.newaxis] + np.arange(count) * dilation
    live = np.flatnonzero(((places >= 0) & (places < size)).any(axis=0))
    if live.size == 0:
        return 0, count
    # What is cut from the window comes out of its padding, which cannot be less than none.
    first = min(int(live[0]), before // dilation)
    end = max(int(live[-1]) + 1, count - after // dilation)
    return first, end


def _cut(graph: Graph, op: Op, cuts: list[tuple[int, int]]) -> None:
    w = graph.constant(op.inputs[1])
    assert w is not None
    (top, bottom), (left, right) = cuts
    inputs = list(op.inputs)
    left_over = np.ascontiguousarray(w[:, :, top:bottom, left:right])
    inputs[1] = graph.block.add_constant(left_over, f"{op.name}.weight")
    if op.type == "qlinear_conv":
        bias = _bias(graph, op, w, left_over)
        inputs[2] = graph.block.add_constant(bias, f"{op.name}.bias")
    pads, dilations = list(op.attributes["pads"]), list(op.attributes["dilations"])
    for axis, (first, end) in enumerate(cuts):
        pads[axis] -= first * dilations[axis]
        pads[2 + axis] -= (w.shape[2 + axis] - end) * dilations[axis]
        if end - first == 1:
            dilations[axis] = 1
    op.attributes["pads"], op.attributes["dilations"] = tuple(pads), tuple(dilations)
    graph.set_inputs(op, inputs)


def _bias(graph: Graph, op: Op, w: NDArray[Any], left_over: NDArray[Any]) -> NDArray[Any]:
    """The bias without the zero point's products with the weights that were cut."""
    bias, quantization = graph.constant(op.inputs[2]), graph.var(op.inputs[0]).quantization
    assert bias is not None and quantization is not None
    cut = w.sum(axis=(1, 2, 3), dtype=np.int64) - left_over.sum(axis=(1, 2, 3), dtype=np.int64)
    return (bias + cut * int(quantization.zero_point[0])).astype(bias.dtype)
