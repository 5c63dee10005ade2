"""`softmax(q k + mask) v` of computed matrices becomes attention, whose scores are never in memory.
Several masks, such as relative position biases, are added up first, even if the scores are reshaped
between two of them. Networks that keep pixels last compute `v^T softmax(q k + mask)^T`, which is
its transpose.

Vaswani et al. 2017, "Attention Is All You Need", equation 1; Liu et al. 2021, "Swin Transformer",
equation 4.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from trimtab.passes import _channel_affine
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 630
Shape = tuple[int, ...]


@dataclass
class _Scores:
    """Scores: the result of `product` times `scale`, plus `masks`. `shape`: the shape with the most
    dimensions that they are reshaped to.
    """

    product: Op
    shape: Shape
    scale: float = 1.0
    masks: list[str] = field(default_factory=list)


def run(program: Program) -> None:
    """Tries every product of computed matrices as the weighted sum of values."""
    graph = Graph(program)
    for op in graph.ops("mat_mul"):
        orders = [op.inputs, op.inputs[::-1]] if op.attributes["transpose_b"] else [op.inputs]
        for weights, values in orders:
            softmax = graph.producer(weights, "softmax") if graph.alive(op) else None
            if softmax is not None and graph.sole_reader(weights) is op:
                _fuse(graph, op, softmax, values)


def _fuse(graph: Graph, op: Op, softmax: Op, values: str) -> None:
    weights, y = softmax.outputs[0], graph.shape(op.outputs[0])
    shape, is_last = graph.shape(weights), op.inputs[1] == weights
    scores = _scores(graph, softmax.inputs[0], softmax, shape)
    if scores is None or softmax.attributes["axis"] % len(shape) != len(shape) - 1:
        return
    operands = [*scores.product.inputs, values]
    shapes = [graph.shape(name) for name in operands]
    if any(len(matrix) < 2 or 0 in matrix for matrix in shapes):
        return
    orders = {
        "transpose_k": scores.product.attributes["transpose_b"],
        "transpose_v": op.attributes["transpose_b"],
    }
    if scores.shape != shape:
        if any(matrix[:-2] != shape[:-2] for matrix in shapes):
            return
        operands = [
            _add(graph, op, "reshape", [name], {"shape": scores.shape[:-2] + matrix[-2:]})
            for name, matrix in zip(operands, shapes, strict=True)
        ]
    if scores.scale != 1:
        scale = graph.block.add_constant(np.array(scores.scale, np.float32))
        operands[0] = _add(graph, op, "mul", [operands[0], scale])
    mask = scores.masks[:1]
    for other in scores.masks[1:]:
        mask = [_add(graph, op, "add", [*mask, other])]
    steps: list[tuple[str, dict[str, object]]] = [("attention", orders)]
    if scores.shape != shape:
        steps.append(("reshape", {"shape": (*y[:-2], *y[:-3:-1]) if is_last else y}))
    if is_last:
        *batch, row, column = range(len(y))
        steps.append(("transpose", {"permutation": (*batch, column, row)}))
    inputs = [*operands, *mask]
    for type, attributes in steps[:-1]:
        inputs = [_add(graph, op, type, inputs, attributes)]
    graph.substitute(op, steps[-1][0], inputs, steps[-1][1])


def _add(
    graph: Graph, op: Op, type: str, inputs: list[str], attributes: dict[str, object] | None = None
) -> str:
    """The result of a new operator before `op`."""
    new = graph.block.make_op(type, inputs, attributes, name=op.name)
    graph.insert_before(op, new)
    return new.outputs[0]


def _scores(graph: Graph, name: str, reader: Op, longest: Shape) -> _Scores | None:
    """The scores `name`, which `reader` alone may read; None if they are not a product with masks.
    `longest`: the longest shape from here to the softmax.
    """
    op, shape = graph.producer(name, "mat_mul", "reshape", "add", "mul"), graph.shape(name)
    if op is None or graph.sole_reader(name) is not reader or shape[-2:] != longest[-2:]:
        return None
    longest = max(longest, shape, key=len)
    if op.type == "mat_mul":
        return _Scores(op, longest)
    if op.type == "reshape":
        return _scores(graph, op.inputs[0], op, longest)
    if op.type == "mul":
        x, scale = op.inputs[0], graph.scalar(op.inputs[1])
        scores = _scores(graph, x, op, longest) if graph.shape(x) == shape else None
        if scale is None or scores is None or scores.masks:
            return None
        return replace(scores, scale=scores.scale * scale)
    if _channel_affine.is_epilogue_used(op):
        return None
    for inner, mask in (op.inputs, op.inputs[::-1]):
        scores = _scores(graph, inner, op, longest) if graph.shape(inner) == shape else None
        if scores and _fits(graph, graph.shape(mask), shape, scores.shape):
            scores.masks.append(mask)
            return scores
    return None


def _fits(graph: Graph, mask: Shape, scores: Shape, longest: Shape) -> bool:
    """Whether a mask of `scores` has a row for all queries, or one for each, and broadcasts to them
    in their longest shape, too.
    """
    rows, columns = scores[-2:]
    if not mask or mask[-1] != columns or (columns == 1 and graph.is_free):
        return False
    same = 0
    while same < len(scores) and scores[-1 - same] == longest[-1 - same]:
        same += 1
    return (len(mask) == 1 or mask[-2] in (1, rows)) and all(n == 1 for n in mask[:-same])
