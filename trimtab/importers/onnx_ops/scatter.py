"""GatherND, ScatterND and ScatterElements with constant indices, and CumSum.

A scatter is a gather along the elements of the operand and the updates, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import movement
from trimtab.importers.vocabulary.movement import flat_indices
from trimtab.importers.vocabulary.reduction import cumulative_sum


@handles("GatherND")
def gather_nd(node: OnnxNode) -> Results:
    """Gathers elements or slices at constant indices [..., axes]; batch_dims is 0."""
    x, indices = node.x(0), node.known(1, "indices")
    if node.integer("batch_dims", 0):
        raise node.unsupported("it gathers by batch")
    return movement.gathered_slices(node, x, indices)


def _scattered(node: OnnxNode, x: Value, rest: Sequence[int], places: Array) -> Value:
    """Replaces the rows of `rest` elements at `places` by those of input 2, the last one wins."""
    if node.text("reduction", "none") != "none":
        raise node.unsupported(f"its reduction is {node.text('reduction')}")
    rows = math.prod(x.shape) // max(1, math.prod(rest))
    source = np.arange(rows)
    source[places] = rows + np.arange(places.size)
    parts = node.reshape(x, (rows, *rest)), node.reshape(node.x(2), (places.size, *rest))
    both = node.add("concat", *parts, axis=0)
    return node.reshape(node.add("gather", both, node.value(source), axis=0), x.shape)


@handles("ScatterND")
def scatter_nd(node: OnnxNode) -> Results:
    """x with elements or slices replaced at constant indices [..., axes]."""
    x, indices = node.x(0), node.known(1, "indices")
    depth = indices.shape[-1] if indices.ndim else 0
    if not 1 <= depth <= len(x.shape):
        raise node.invalid(f"its indices are {list(indices.shape)} for {len(x.shape)} dimensions")
    node.check_shape("updates", node.shape(2), (*indices.shape[:-1], *x.shape[depth:]))
    if not indices.size:
        return x
    places = flat_indices(node, indices, x.shape[:depth]).reshape(-1)
    return _scattered(node, x, x.shape[depth:], places)


@handles("ScatterElements", "Scatter")
def scatter_elements(node: OnnxNode) -> Results:
    """x with single elements replaced at constant indices along an axis."""
    x, indices = node.x(0), node.known(1, "indices")
    axis = node.axis(node.integer("axis", 0))
    node.check_shape("updates", node.shape(2), indices.shape)
    if indices.ndim != len(x.shape):
        raise node.invalid(f"its indices have {indices.ndim} dimensions, not {len(x.shape)}")
    if not indices.size:
        return x
    grid = np.moveaxis(np.indices(indices.shape), 0, -1).copy()
    grid[..., axis] = indices
    return _scattered(node, x, (), flat_indices(node, grid, x.shape).reshape(-1))


@handles("CumSum")
def cum_sum(node: OnnxNode) -> Results:
    """Sums along a constant axis up to each element, or from it on."""
    return cumulative_sum(
        node,
        node.x(0),
        node.axis(int(node.number(1, "axis"))),
        reverse=node.boolean("reverse", False),
        exclusive=node.boolean("exclusive", False),
    )
