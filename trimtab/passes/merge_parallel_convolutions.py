"""Convolutions of one tensor whose results are added or subtracted become one convolution, also
with a batch normalization of this tensor, as in networks that are trained with parallel branches
(RepVGG, MobileOne, FastViT).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab.passes import _channel_affine, fold_affine, fold_batch_norm
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 515

Array = NDArray[Any]


class _Branch(NamedTuple):
    """A summand as a convolution of `x`: float64 weights [c_out, c_in / group, kh, kw], bias
    [c_out].
    """

    x: str
    weight: Array
    bias: Array
    group: int
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]


def run(program: Program) -> None:
    """The window of one convolution contains those of the others, so no multiplication is added.
    What scales the sum folds into the result. Source: Ding et al., "RepVGG: Making
    VGG-style ConvNets Great Again", section 3.3.
    """
    graph = Graph(program)
    sums = [op for op in graph.ops("add", "sub") if graph.alive(op) and _merge(graph, op)]
    if sums:
        fold_batch_norm.run(program)
        fold_affine.run(program)


def _merge(graph: Graph, op: Op) -> bool:
    """Replaces a sum or difference of two branches by a convolution, if it is one."""
    signs = (1, -1 if op.type == "sub" else 1)
    for i, name in enumerate(op.inputs):
        other = op.inputs[1 - i]
        branch = _convolution(graph, name)
        if branch is None or not graph.have_same_shape(name, other):
            continue
        beside = _convolution(graph, other) or _scaled_input(graph, op, other, branch)
        merged = None if beside is None else _sum(branch, signs[i], beside, signs[1 - i])
        if merged is None:
            continue
        weight, bias = (data.astype(np.float32) for data in (merged.weight, merged.bias))
        operands = [
            merged.x,
            graph.block.add_constant(weight, f"{op.name}.weight"),
            graph.block.add_constant(bias, f"{op.name}.bias"),
        ]
        attributes = {n: getattr(merged, n) for n in ("group", "strides", "dilations", "pads")}
        graph.substitute(op, "conv", operands, attributes)
        return True
    return False


def _convolution(graph: Graph, name: str) -> _Branch | None:
    """The convolution that computes `name` for one reader, with constant weights."""
    op = _channel_affine.producer(graph, name)
    if op is None or op.type != "conv":
        return None
    weight = graph.constant(op.inputs[1])
    bias = graph.constant(op.inputs[2]) if len(op.inputs) > 2 and op.inputs[2] else None
    assert weight is not None
    if weight.dtype != np.float32:
        return None
    values = op.attributes
    return _Branch(
        op.inputs[0],
        weight.astype(np.float64),
        np.zeros(len(weight)) if bias is None else bias.astype(np.float64),
        values["group"],
        tuple(values["strides"]),
        tuple(values["dilations"]),
        tuple(values["pads"]),
    )


def _scaled_input(graph: Graph, sum_: Op, name: str, beside: _Branch) -> _Branch | None:
    """A batch normalization of the branch's input, or this input, as a 1x1 convolution.

    The input itself is left to the residual operand of the convolution, which costs less than its
    rounding, unless a batch normalization follows that would not fold.
    """
    channels = graph.shape(name)[1]
    op = graph.producer(name, "batch_normalization")
    if name == beside.x:
        reader = graph.sole_reader(sum_.outputs[0])
        if reader is None or reader.type != "batch_normalization":
            return None
        scale, shift = np.ones(channels), np.zeros(channels)
    elif op is not None and op.inputs[0] == beside.x and _joins_sums_only(graph, name):
        line = fold_batch_norm.line(graph, op)
        if line is None:
            return None
        scale, shift = line
    else:
        return None
    of_group = beside.weight.shape[1]
    weight = np.zeros((channels, of_group, 1, 1))
    weight[np.arange(channels), np.arange(channels) % of_group, 0, 0] = scale
    return _Branch(beside.x, weight, shift, beside.group, (1, 1), (1, 1), (0, 0, 0, 0))


def _joins_sums_only(graph: Graph, name: str) -> bool:
    """Whether sums and differences alone read `name`: merged one by one, they may all absorb it."""
    return not graph.program.is_output(name) and all(
        op.type in ("add", "sub") and op.inputs.count(name) == 1 for op in graph.readers(name)
    )


def _sum(a: _Branch, a_sign: int, b: _Branch, b_sign: int) -> _Branch | None:
    """The sum as one convolution with the larger window; None if neither contains the other."""
    if (a.x, a.group, a.strides) != (b.x, b.group, b.strides):
        return None
    a = a._replace(weight=a_sign * a.weight, bias=a_sign * a.bias)
    b = b._replace(weight=b_sign * b.weight, bias=b_sign * b.bias)
    for large, small in ((a, b), (b, a)):
        rows, columns = (_taps(large, small, axis) for axis in (0, 1))
        if rows is not None and columns is not None:
            weight = large.weight.copy()
            weight[:, :, rows, columns] += small.weight
            return large._replace(weight=weight, bias=large.bias + small.bias)
    return None


def _taps(large: _Branch, small: _Branch, axis: int) -> slice | None:
    """The taps of the larger window that read what the smaller window reads."""
    counts = [branch.weight.shape[2 + axis] for branch in (large, small)]
    step = large.dilations[axis]
    if counts[1] > 1 and small.dilations[axis] != step:
        return None
    first, remainder = divmod(large.pads[axis] - small.pads[axis], step)
    fits = not remainder and first >= 0 and first + counts[1] <= counts[0]
    return slice(first, first + counts[1]) if fits else None
