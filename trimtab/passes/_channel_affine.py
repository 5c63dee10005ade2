"""Folds y = scale x + shift, per channel, into the weights and bias of the operator that computes
x, or of one that reads y.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.engine import engine
from trimtab.passes._graph import Graph
from trimtab.program import Op

Array = NDArray[Any]
ARITHMETIC = ("add", "sub", "mul", "div", "neg")
"""Operators that are such a function if the other operand, if there is one, is a constant."""


def producer(graph: Graph, name: str) -> Op | None:
    """The operator whose weights can absorb the operator after `name`: it has weights for each
    output channel, and `name` has no other reader.
    """
    op = graph.producer(name)
    if op is None or op.schema.channel_axis is None:
        return None
    if graph.sole_reader(name) is None or is_epilogue_used(op):
        return None
    return op if all(graph.constant(i) is not None for i in op.inputs[1:3] if i) else None


def is_epilogue_used(op: Op) -> bool:
    """True if a clamp, an activation or a residual is already fused into the operator."""
    values = op.attributes
    clamps = (values["clamp_min"], values["clamp_max"]) != (-np.inf, np.inf)
    return clamps or bool(values["activation"]) or bool(op.inputs[3:] and op.inputs[3])


def channels(graph: Graph, op: Op) -> int:
    """Number of output channels."""
    return graph.shape(op.outputs[0])[channel_axis(op)]


def channel_axis(op: Op) -> int:
    """Axis of the output channels of an operator with weights."""
    assert op.schema.channel_axis is not None
    return op.schema.channel_axis


def operand(graph: Graph, op: Op) -> str:
    """x of one of `ARITHMETIC`: a constant comes first in a difference only."""
    return op.inputs[1 if _is_swapped(graph, op) else 0]


def line(graph: Graph, op: Op, axis: int) -> tuple[Array, Array] | None:
    """(scale, shift) along `axis`, float64[channels], of one of `ARITHMETIC`; None unless its other
    operand is a constant that depends only on the channel, and x has the result's shape.
    """
    x, y = graph.shape(operand(graph, op)), graph.shape(op.outputs[0])
    ones, zeros = np.ones(y[axis]), np.zeros(y[axis])
    if op.type == "neg":
        return -ones, zeros
    is_swapped = _is_swapped(graph, op)
    constant = graph.constant(op.inputs[0 if is_swapped else 1])
    vector = None if constant is None or x != y else _along(constant, len(y), axis, y[axis])
    if vector is None:
        return None
    match op.type:
        case "add":
            return ones, vector
        case "sub":
            return (-ones, vector) if is_swapped else (ones, -vector)
        case "mul":
            return vector, zeros
        case _:
            return (1 / vector, zeros) if np.all(vector != 0) else None


def bypass(graph: Graph, op: Op) -> None:
    """Removes one of `ARITHMETIC`, or another function of its first operand, that is folded."""
    if _is_swapped(graph, op):
        graph.set_inputs(op, reversed(op.inputs))
    graph.bypass(op)


def _is_swapped(graph: Graph, op: Op) -> bool:
    return op.type == "sub" and graph.constant(op.inputs[0]) is not None


def _along(constant: Array, rank: int, axis: int, count: int) -> Array | None:
    """float64[count] if `constant`, broadcast to `rank`, depends only on the index along `axis`."""
    shape = (1,) * (rank - constant.ndim) + constant.shape
    if any(n != 1 for i, n in enumerate(shape) if i != axis):
        return None
    return np.broadcast_to(constant.reshape(-1).astype(np.float64), (count,))


def apply(graph: Graph, op: Op, scale: Array, shift: Array) -> None:
    """Makes `op`, a result of `producer`, compute scale * y + shift; both float64[channels]."""
    weight = graph.constant(op.inputs[1])
    assert weight is not None
    old_bias = graph.constant(op.inputs[2]) if len(op.inputs) > 2 and op.inputs[2] else None
    bias = shift if old_bias is None else scale * old_bias + shift
    inputs = [op.inputs[0], op.inputs[1], "", *op.inputs[3:]]
    if not np.all(scale == 1):
        scaled = _scaled(op, weight, scale)
        inputs[1] = graph.block.add_constant(scaled, op.inputs[1])
    inputs[2] = graph.block.add_constant(bias.astype(np.float32), f"{op.name}.bias")
    graph.set_inputs(op, inputs)


def apply_to_inputs(graph: Graph, op: Op, scale: Array, shift: Array) -> None:
    """Makes a convolution or GEMM with constant weights compute with scale * x + shift in place of
    its operand x; both float64[channels].
    """
    weight = graph.constant(op.inputs[1])
    assert weight is not None
    groups = op.attributes["group"] if op.type == "conv" else 1
    outputs, inputs_of_group, *taps = weight.shape
    shape = (groups, outputs // groups, inputs_of_group, math.prod(taps))
    products = weight.astype(np.float64).reshape(shape)
    shifts = (products * shift.reshape(groups, 1, -1, 1)).sum((2, 3)).ravel()
    products *= scale.reshape(groups, 1, -1, 1)
    inputs = [*op.inputs, ""][: max(3, len(op.inputs))]
    if not np.all(scale == 1):
        scaled = products.reshape(weight.shape).astype(np.float32)
        inputs[1] = graph.block.add_constant(scaled, op.inputs[1])
    if np.any(shifts != 0):
        old = graph.constant(inputs[2]) if inputs[2] else None
        bias = shifts if old is None else old + shifts
        inputs[2] = graph.block.add_constant(bias.astype(np.float32), f"{op.name}.bias")
    graph.set_inputs(op, inputs)


def _scaled(op: Op, weight: Array, scale: Array) -> Array:
    """The float32 products, rounded from float64."""
    if op.type == "conv_transpose":
        # [c_in, c_out / group, kh, kw]: a group's input channels produce its output channels.
        by_group = scale.reshape(op.attributes["group"], 1, -1)
        inputs = weight.shape[0] // len(by_group)
        scale = np.broadcast_to(by_group, (len(by_group), inputs, weight.shape[1]))
    factors = np.ascontiguousarray(scale).ravel()
    products: Array = engine().scaled_rows(np.asarray(weight, np.float32), factors)
    return products
