"""Folds y = scale x + shift, per channel, into the weights and bias of the operator that computes
x.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.engine import engine
from trimtab.passes._graph import Graph
from trimtab.program import Op

Array = NDArray[Any]


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
