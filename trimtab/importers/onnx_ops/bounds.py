"""Constant upper bounds of computed values, such as the trip count of a loop."""

from __future__ import annotations

import onnx

from trimtab.importers.onnx_ops.node import OnnxNode

_SAME_VALUES = frozenset(("Cast", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze"))


def note(node: OnnxNode) -> None:
    """Records the largest value that the elements of the node's result can have, if it is known."""
    operands = [i for i in range(node.count()) if node.has(i)]
    bounds = [node.bound(i) for i in operands]
    limits = [bound for bound in bounds if bound is not None]
    bound: float | None = None
    if node.type == "Cast" and node.integer("to", 0) == onnx.TensorProto.BOOL:
        bound = 1.0
    elif node.type in _SAME_VALUES:
        bound = bounds[0]
    elif node.type == "Min":
        bound = min(limits, default=None)
    elif node.type == "Max" and len(limits) == len(bounds):
        bound = max(limits, default=None)
    elif node.type == "Clip" and node.has(2):
        bound = node.bound(2)
    if bound is not None:
        node.note_bound(bound)
