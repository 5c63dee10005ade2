"""A convolution loses the outer rows and columns of its window that only ever meet padding, as in
widely dilated convolutions of small images.
"""

from __future__ import annotations

import numpy as np

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 522


def run(program: Program) -> None:
    """The taps that remain read the same pixels, with less padding."""
    graph = Graph(program)
    for op in graph.ops("conv"):
        weights = graph.constant(op.inputs[1])
        if weights is not None:
            _cut(graph, op, weights)


def _cut(graph: Graph, op: Op, weights: np.ndarray) -> None:
    sizes, outputs = graph.shape(op.inputs[0])[2:], graph.shape(op.outputs[0])[2:]
    strides, dilations, pads = (op.attributes[k] for k in ("strides", "dilations", "pads"))
    cuts = [
        _dead(*axis)
        for axis in zip(
            *(weights.shape[2:], sizes, outputs, strides, dilations, pads[:2], pads[2:]),
            strict=True,
        )
    ]
    if not any(map(any, cuts)):
        return
    (top, bottom), (left, right) = cuts
    height, width = weights.shape[2:]
    rest = weights[:, :, top : height - bottom, left : width - right]
    name = graph.block.add_constant(np.ascontiguousarray(rest))
    cut = (top, left, bottom, right)
    op.attributes["pads"] = tuple(pads[i] - cut[i] * dilations[i % 2] for i in range(4))
    graph.set_inputs(op, [op.inputs[0], name, *op.inputs[2:]])


def _dead(
    taps: int, size: int, outputs: int, stride: int, dilation: int, before: int, after: int
) -> tuple[int, int]:
    """How many of the first and of the last taps of an axis read padding only, in all `outputs`
    windows, as far as that padding is at least as long as the taps are apart. (0, 0) if all are.
    """

    def is_dead(tap: int) -> bool:
        first = tap * dilation - before  # the position that the first window reads
        positions = range(first, first + outputs * stride, stride)
        return not any(0 <= at < size for at in positions)

    alive = [tap for tap in range(taps) if not is_dead(tap)]
    if not alive:
        return 0, 0
    return min(alive[0], before // dilation), min(taps - 1 - alive[-1], after // dilation)
