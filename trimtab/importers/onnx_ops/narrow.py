"""Integers of 16 bits and uint32, which are computed in wider types.

Each value has two types: that of the file, and the wider one in which it is computed. The results
of operators are wrapped to the range of the file's type.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnx import defs, helper

from trimtab.importers._graph import Value
from trimtab.importers.onnx_ops.node import DTYPE_NAMES, OnnxNode
from trimtab.schema import END_DTYPES

TYPES = tuple(dtype for dtype in END_DTYPES if dtype[0] in "iu")
"""The engine's names of these types."""

# Operators whose results are elements of their operands.
_KEEPING = frozenset(
    (
        *("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Tile"),
        *("Concat", "Split", "Slice", "Gather", "GatherElements", "GatherND", "Compress"),
        *("Where", "Max", "Min", "ReduceMax", "ReduceMin", "MaxPool", "TopK", "ReverseSequence"),
        *("DepthToSpace", "SpaceToDepth", "trimtab.BranchInput", "trimtab.BranchResult"),
    )
)


def note(node: OnnxNode) -> Iterator[tuple[str, str]]:
    """Records the narrow types of the node's results, and yields the results that have to be
    wrapped, with these types.
    """
    for i, name in enumerate(node.outputs):
        if name is None or not (dtype := _type_of(node, i)):
            continue
        value = node.result(i)
        if isinstance(value, Value) and value.dtype == END_DTYPES[dtype]:
            node.note_narrow(i, dtype)
            if node.type not in _KEEPING:
                yield str(name), dtype


def _type_of(node: OnnxNode, i: int) -> str | None:
    """The narrow type of output `i` in the file; None for any other type."""
    if node.type in ("Cast", "BitCast"):
        to = helper.tensor_dtype_to_np_dtype(node.integer("to")).name
        dtype = DTYPE_NAMES.get(to, "")
        return dtype if dtype in TYPES else None
    return next((own for k in _same_type(node, i) if (own := node.narrow(k))), None)


def _same_type(node: OnnxNode, i: int) -> Iterator[int]:
    """The present inputs that have the element type of output `i` by the operator's rules."""
    version = node.versions.get(node.domain)
    if version is None or not defs.has(node.type, version, node.domain):
        yield from (k for k in range(node.count()) if node.has(k))
        return
    schema = defs.get_schema(node.type, version, node.domain)
    own = schema.outputs[min(i, len(schema.outputs) - 1)].type_str
    for k in range(node.count()):
        declared = schema.inputs[min(k, len(schema.inputs) - 1)].type_str
        if node.has(k) and declared == own:
            yield k
