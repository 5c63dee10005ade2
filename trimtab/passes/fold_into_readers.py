"""Batch normalization and `+ - * /` by constants per channel fold into the weights and bias of the
convolutions and GEMMs behind them, if only these read their results.
"""

from __future__ import annotations

import numpy as np

from trimtab.passes import _channel_affine, fold_batch_norm
from trimtab.passes._channel_affine import Array
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 518

# Weights by a scale that is further from 1 may leave the range of f16, and what the operator reads
# may already have left it.
_LARGEST_SCALE = 256.0


def run(program: Program) -> None:
    """Convolutions of padded images absorb a scale only: padding is zero after the shift. A scale
    far from 1 remains an operator.
    """
    graph = Graph(program)
    for op in graph.ops("batch_normalization", *_channel_affine.ARITHMETIC):
        readers = _readers(graph, op.outputs[0])
        line = _line(graph, op, readers) if readers else None
        if line is None:
            continue
        scale, shift = line
        sizes = np.abs(scale)
        if not np.all((sizes >= 1 / _LARGEST_SCALE) & (sizes <= _LARGEST_SCALE)):
            continue
        if np.any(shift != 0) and any(any(op.attributes.get("pads", ())) for op in readers):
            continue
        for reader in readers:
            _channel_affine.apply_to_inputs(graph, reader, scale, shift)
        _channel_affine.bypass(graph, op)


def _readers(graph: Graph, name: str) -> list[Op]:
    """The operators that read `name`, if all are convolutions or GEMMs with constant weights."""
    readers = graph.readers(name)
    if graph.program.is_output(name):
        return []
    for op in readers:
        parameters = [graph.constant(i) for i in op.inputs[1:3] if i]
        if op.type not in ("conv", "gemm") or any(p is None for p in parameters):
            return []
        if op.inputs[0] != name or op.inputs.count(name) > 1:
            return []
    return readers


def _line(graph: Graph, op: Op, readers: list[Op]) -> tuple[Array, Array] | None:
    """(scale, shift) along the axis of the readers' input channels."""
    rank = len(graph.shape(op.outputs[0]))
    axes = {1 if reader.type == "conv" else rank - 1 for reader in readers}
    if len(axes) > 1:
        return None
    (axis,) = axes
    if op.type == "batch_normalization":
        return fold_batch_norm.line(graph, op) if axis == 1 else None
    return _channel_affine.line(graph, op, axis)
