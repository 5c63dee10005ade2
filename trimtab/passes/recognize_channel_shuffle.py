"""reshape, transpose, reshape that interleave groups of channels (ShuffleNet) become
channel_shuffle.
"""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

# After the QDQ passes: in a quantized network, QDQ pairs separate the three operators.
ORDER = 480


def run(program: Program) -> None:
    """[n, c, h, w] -> [n, g, c / g, ...] -> [n, c / g, g, ...] -> [n, c, h, w]."""
    graph = Graph(program)
    for last in filter(_is_reshape, graph.ops()):
        swap = graph.producer(last.inputs[0], "transpose")
        first = graph.producer(swap.inputs[0]) if swap else None
        if swap is None or first is None or not _is_reshape(first):
            continue
        x, split = first.inputs[0], graph.shape(swap.inputs[0])
        shape = graph.shape(x)
        if len(shape) == 4 and graph.shape(last.outputs[0]) == shape and _swaps(swap, split, shape):
            graph.substitute(last, "channel_shuffle", [x], {"group": split[1]})


def _is_reshape(op: Op) -> bool:
    return op.type == "reshape" and not op.counts


def _swaps(swap: Op, split: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    order = swap.attributes["permutation"]
    exchanged = len(split) >= 3 and order == (0, 2, 1, *range(3, len(split)))
    return exchanged and split[0] == shape[0] and split[1] * split[2] == shape[1]
